"""Accuracy per phenomenon, with and without heads."""
