"""Learned gates, with controls, and their layouts trained from the start."""
