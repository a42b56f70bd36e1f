"""Corpora: generated, downloaded or supplied by the user."""
