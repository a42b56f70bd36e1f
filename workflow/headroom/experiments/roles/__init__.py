"""Roles of heads by where they point."""
