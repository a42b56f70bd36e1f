"""The configuration, one typed model per section."""
