"""Models of transformers: sites, gates, removal, reuse, verification; a folder per kind of model."""
