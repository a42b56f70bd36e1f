"""Language models: causal models of transformers on plain text."""
