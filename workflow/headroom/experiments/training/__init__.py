"""Training: losses and speed of every epoch."""
