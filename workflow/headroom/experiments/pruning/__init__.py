"""Removing more and more heads, by several orders and their controls."""
