"""Good and bad sentences that differ in one point: how often a model with fewer heads still prefers the good ones."""
