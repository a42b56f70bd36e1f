"""Time of an update in every arm."""
