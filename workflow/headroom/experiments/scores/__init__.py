"""Gradient importance of every head at every epoch."""
