"""Keeping one head per site."""
