"""Agreement of effects on several sets."""
