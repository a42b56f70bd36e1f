"""Experiments: what is done to models and shown, one folder each."""
