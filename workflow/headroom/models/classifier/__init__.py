"""Classifiers of transformers on labelled text."""
