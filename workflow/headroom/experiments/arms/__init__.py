"""Comparison of the arms of a task over seeds."""
