"""Relevance of heads by layer-wise relevance propagation."""
