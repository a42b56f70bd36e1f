"""Programs that prepare what experiments need: text, vocabularies, encoders, released models."""
