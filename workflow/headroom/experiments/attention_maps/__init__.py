"""Attention maps of heads with roles."""
