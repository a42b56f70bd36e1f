"""Parameters of heads, sites and model."""
