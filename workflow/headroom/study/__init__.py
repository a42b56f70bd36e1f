"""Finished studies: their tables, how these are queried, and what their configuration says."""
