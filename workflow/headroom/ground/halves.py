"""The halves of a set: heads are chosen on one and scored on the other."""

HALVES = {"all": slice(None), "choose": slice(0, None, 2), "score": slice(1, None, 2)}
"""Examples at even positions choose, those at odd positions score."""
