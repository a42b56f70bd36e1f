"""Figures, tables and sentences of the report."""
