"""Masked language models: encoders of transformers that predict tokens of plain text which they do not see."""
