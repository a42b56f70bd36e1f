"""Classifiers, trained with the Trainer of transformers."""
