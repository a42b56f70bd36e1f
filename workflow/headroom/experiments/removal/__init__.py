"""Real removal of heads, checked against masking."""
