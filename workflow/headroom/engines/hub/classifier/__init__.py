"""The engine of classification: transformers."""
