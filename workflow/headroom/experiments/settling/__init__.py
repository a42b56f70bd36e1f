"""When the importance of heads settles in training."""
