"""Models of the library transformers, from the Hub or a directory."""
