"""Heads as particles: norms, kernels, directions of repulsion."""
