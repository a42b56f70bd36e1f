"""Good and bad sentences that differ in one point: which groups of them a model still tells apart with fewer heads."""
