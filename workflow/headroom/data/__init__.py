"""Corpora: generated, downloaded or brought along."""
