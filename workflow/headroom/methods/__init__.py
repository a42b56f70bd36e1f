"""Criteria, orders, repulsion, diversity: methods on models with the interface `HeadModel`."""
