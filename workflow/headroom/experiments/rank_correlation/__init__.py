"""Agreement of criteria on the ranks of heads."""
