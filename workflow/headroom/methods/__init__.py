"""Criteria, orders, repulsion, diversity: methods on models behind the adapter protocol."""
