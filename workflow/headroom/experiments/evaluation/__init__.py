"""Final scores of a run on every set."""
