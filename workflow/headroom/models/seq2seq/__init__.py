"""Translation by encoder-decoder models of transformers."""
