"""Removing each head on its own."""
