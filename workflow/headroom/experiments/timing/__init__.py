"""Time of full, masked and sliced models."""
