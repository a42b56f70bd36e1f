"""Translation: a fairseq Transformer, its vocabulary, and parallel text."""
