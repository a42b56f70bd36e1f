"""Removal orders and the profiles along a curve."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.experiments.bakeoff.table import BAKEOFF_SCORES
from headroom.experiments.scores.table import SCORES

if TYPE_CHECKING:
    import pandas

REVERSE = "reverse"

CONTROLS = ("random", "top-first", "bottom-first", REVERSE)
"""Orders that criteria are compared with: without scores, and the reverse of that by single-head ablation."""

_FROM_THE_OUTPUT = ("A", "D", "E")
"""Kinds of sites from the output of a model down: a decoder layer attends to itself, then to the encoder."""


@dataclass(frozen=True)
class Order:
    """A removal order and the columns that name it."""

    order: str
    heads: list[Head]
    normalised: str = ""
    ranking: str = "fixed"
    draw: int = 0


def read_scores(path: str, *, epoch: float, criterion: str, normalised: str = "raw") -> dict[Head, float]:
    """Read one criterion's scores of one epoch from a table of the stage scores.

    Raises:
        HeadroomError: If the table has no such scores; lists the available ones.
    """
    table = SCORES.read(path)
    mine = table[(table["epoch"] == epoch) & (table["criterion"] == criterion) & (table["normalised"] == normalised)]
    if mine.empty:
        known = ", ".join(sorted(set(table["criterion"])))
        epochs = sorted(set(table["epoch"]))
        raise HeadroomError(f"{path}: no {normalised} scores by {criterion} at epoch {epoch}, only {known}; {epochs}")
    return by_head(mine, mine["value"])


def read_compared(paths: Sequence[Path | str], *, epoch: float, criterion: str) -> dict[Head, float]:
    """Read one criterion's scores of one epoch from tables of the stage bakeoff_scores.

    Raises:
        HeadroomError: If the tables have no such scores.
    """
    rows = BAKEOFF_SCORES.read_all(paths)
    rows = rows[(rows["criterion"] == criterion) & (rows["half"] == "all") & (rows["epoch"] == epoch)]
    if rows.empty:
        raise HeadroomError(f"--scores: no scores by {criterion} at epoch {epoch}; rerun the job that writes them")
    return by_head(rows, rows["value"])


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


def top_first(heads: Sequence[Head]) -> list[Head]:
    """Return heads from the top layers down, a control without scores (HARP prunes high layers first).

    The height of a head is its layer as a share of the layers of its kind among `heads`: the last layers of an encoder
    and of a decoder have the same height, also if their numbers of layers differ. At one height the kinds
    follow from the output down, A, D, E. The heads of a site are in the order of their numbers, which means nothing.
    """
    layers = {kind: max(head.layer for head in heads if head.kind == kind) for kind in {head.kind for head in heads}}
    return sorted(heads, key=lambda head: (-head.layer / layers[head.kind], _FROM_THE_OUTPUT.index(head.kind), head))


def bottom_first(heads: Sequence[Head]) -> list[Head]:
    """Return heads from the bottom layers up, a control: the reverse of `top_first`."""
    return top_first(heads)[::-1]


def control_orders(name: str, heads: Sequence[Head], *, draws: int) -> list[Order]:
    """Return the orders of a control without scores: random ones with seeds from 0, or a single one by layers."""
    if name == "random":
        return [Order(name, random_order(heads, draw), draw=draw) for draw in range(draws)]
    return [Order(name, {"top-first": top_first, "bottom-first": bottom_first}[name](heads))]


def step_sizes(heads: int, step: float) -> list[int]:
    """Return the number of removed heads at each point of a curve: from 0 in steps of about the share `step` to all.

    Counts are rounded to whole heads and distinct, and the last is exactly `heads`.
    """
    points = round(1 / step)
    return sorted({round(heads * point / points) for point in range(points + 1)})


def rescore_order(
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


def take_first(order: Sequence[Head], count: int) -> frozenset[Head]:
    """Return the profile of the first `count` heads of an order.

    Raises:
        HeadroomError: If the order has fewer heads.
    """
    if not 0 <= count <= len(order):
        raise HeadroomError(f"share of heads: cannot remove {count}, the model has {len(order)} in scope; remove fewer")
    return frozenset(order[:count])


def profiles(order: Order, step: float) -> list[frozenset[Head]]:
    """Return the profiles of a curve, from no head removed to all, in steps of about the share `step`."""
    return [take_first(order.heads, count) for count in step_sizes(len(order.heads), step)]
