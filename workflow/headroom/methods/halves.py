"""Scores of heads on two halves of the examples, which show how well a criterion repeats itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from headroom.core.heads import Head

HALVES = ("choose", "score")
"""Examples at even positions of the set, and at odd ones."""


def half_rows(name: str, half: str, scores: Mapping[Head, float]) -> Iterator[dict[str, Any]]:
    """Yield the columns from `kind` to `value` of every head, of one criterion on one half of the examples."""
    for head in sorted(scores):
        place = {"kind": head.kind, "layer": head.layer, "head": head.head}
        yield {**place, "criterion": name, "half": half, "value": scores[head]}
