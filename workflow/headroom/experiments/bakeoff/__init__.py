"""Comparison of criteria at equal numbers of heads and known cost."""
