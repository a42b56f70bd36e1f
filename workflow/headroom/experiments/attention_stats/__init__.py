"""Where heads point: positions, relations, rare words."""
