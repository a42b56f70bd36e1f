"""Removal orders and the profiles along a curve."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head

if TYPE_CHECKING:
    import pandas


def read_scores(path: str, *, epoch: int, criterion: str, normalised: str = "raw") -> dict[Head, float]:
    """Read one criterion's scores of one epoch from a table of the stage scores.

    Raises:
        HeadroomError: If the table has no such scores; lists the available ones.
    """
    table = tables.SCORES.read(path)
    mine = table[(table["epoch"] == epoch) & (table["criterion"] == criterion) & (table["normalised"] == normalised)]
    if mine.empty:
        known = ", ".join(sorted(set(table["criterion"])))
        epochs = sorted(set(table["epoch"]))
        raise HeadroomError(f"{path}: no {normalised} scores by {criterion} at epoch {epoch}, only {known}; {epochs}")
    return by_head(mine, mine["value"])


def by_head(table: pandas.DataFrame, values: Iterable[float]) -> dict[Head, float]:
    """Return values by head, which is given by the columns `kind`, `layer` and `head` of each row."""
    places = zip(table["kind"], table["layer"], table["head"])
    return {Head(kind, int(layer), int(head)): float(v) for (kind, layer, head), v in zip(places, values)}


def least_important_first(scores: Mapping[Head, float], heads: Sequence[Head]) -> list[Head]:
    """Return heads by rising score; equal scores in table order (kind, layer, head).

    Raises:
        HeadroomError: If a head has no score.
    """
    missing = [head for head in heads if head not in scores]
    if missing:
        raise HeadroomError(f"head {missing[0]}: no score; score the full model first")
    return sorted(heads, key=lambda head: (scores[head], head))


def random_order(heads: Sequence[Head], seed: int) -> list[Head]:
    """Return heads in a random order that depends only on the seed and the heads."""
    return random.Random(f"order {seed}").sample(sorted(heads), len(heads))


def step_sizes(heads: int, step: float) -> list[int]:
    """Return the number of removed heads at each point of a curve: from 0 in steps of about the share `step` to all.

    Counts are rounded to whole heads and distinct, and the last is exactly `heads`.
    """
    points = round(1 / step)
    return sorted({round(heads * point / points) for point in range(points + 1)})


def rescored_order(
    heads: Sequence[Head], sizes: Sequence[int], scores: Callable[[frozenset[Head]], Mapping[Head, float]]
) -> list[Head]:
    """Return the removal order in which the remaining heads are re-scored after every step.

    `sizes` are the numbers of removed heads at each point, from `step_sizes`; `scores` scores all heads under a
    profile.
    """
    order: list[Head] = []
    for size in sizes[1:]:
        gone = frozenset(order)
        rest = [head for head in heads if head not in gone]
        order += least_important_first(scores(gone), rest)[: size - len(order)]
    return order


def removed_first(order: Sequence[Head], count: int) -> frozenset[Head]:
    """Return the profile of the first `count` heads of an order.

    Raises:
        HeadroomError: If the order has fewer heads.
    """
    if not 0 <= count <= len(order):
        raise HeadroomError(f"share of heads: cannot remove {count}, the model has {len(order)} in scope; remove fewer")
    return frozenset(order[:count])
