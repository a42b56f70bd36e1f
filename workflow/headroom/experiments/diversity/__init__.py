"""Similarity of the heads of a site."""
