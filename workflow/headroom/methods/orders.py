"""Removal orders and the profiles along a curve."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.errors import HeadroomError
from headroom.core.formatting import listing
from headroom.core.heads import Head, Unit, join_units
from headroom.experiments.scores.declared import SCORES

if TYPE_CHECKING:
    import pandas

    from headroom.experiments.pruning.declared import OrderSettings
    from headroom.models.head_model import HeadModel

REVERSE = "reverse"

CONTROLS = ("random", "top-first", "bottom-first", REVERSE)
"""Orders that criteria are compared with: without scores, and the reverse of that by single-head ablation."""

_FROM_THE_OUTPUT = ("A", "D", "E")
"""Kinds of sites from the output of a model down: a decoder layer attends to itself, then to the encoder."""


@dataclass(frozen=True)
class Order:
    """A removal order of units of heads, and the columns that name it."""

    order: str
    units: list[Unit]
    normalised: str = ""
    ranking: str = "fixed"
    draw: int = 0


def read_scores(*paths: Path | str, epoch: float, criterion: str, normalised: str = "raw") -> dict[Head, float]:
    """Read one criterion's scores of one epoch from tables of the stage scores.

    Raises:
        HeadroomError: If the tables have no such scores; lists the available ones.
    """
    table = SCORES.read_all(paths)
    mine = table[(table["epoch"] == epoch) & (table["criterion"] == criterion) & (table["half"] == "all")]
    mine = mine[mine["normalised"] == normalised]
    if mine.empty:
        named, known = listing(map(str, paths)) or "--scores", listing(sorted(set(table["criterion"])))
        epochs = listing(f"{one:g}" for one in sorted(set(table["epoch"])))
        raise HeadroomError(
            f"{named}: no {normalised} scores by {criterion} at epoch {epoch:g}, only by {known} at epoch {epochs}; "
            "rerun the job that writes them"
        )
    return by_head(mine, mine["value"])


def by_head(table: pandas.DataFrame, values: Iterable[float]) -> dict[Head, float]:
    """Return values by head, which is given by the columns `kind`, `layer` and `head` of each row."""
    places = zip(table["kind"], table["layer"], table["head"])
    return {Head(kind, int(layer), int(head)): float(v) for (kind, layer, head), v in zip(places, values)}


def least_important_first(
    scores: Mapping[Head, float] | Mapping[Head, float | tuple[float, float]], units: Sequence[Unit]
) -> list[Unit]:
    """Return units by the rising sum of the scores of their heads; equal ones in table order (kind, layer, head).

    Scores may be pairs, whose second numbers order units of equal first ones.

    Raises:
        HeadroomError: If a head has no score, or NaN.
    """
    if missing := next((head for head in sorted(join_units(units)) if head not in scores), None):
        raise HeadroomError(f"head {missing}: no score; score the full model first")
    pairs = {head: score if isinstance(score, tuple) else (score,) for head, score in scores.items()}
    if wrong := next((head for head in sorted(join_units(units)) if any(map(math.isnan, pairs[head]))), None):
        raise HeadroomError(f"head {wrong}: its score is NaN, which has no place in an order; score the heads again")
    return sorted(units, key=lambda unit: (*map(sum, zip(*(pairs[head] for head in unit))), unit))


def read_order(path: Path | str, *, epoch: float, settings: OrderSettings, model: HeadModel) -> list[Unit]:
    """Return the units of a model by rising raw scores of the main criterion; errors as in `read_scores`."""
    return least_important_first(read_scores(path, epoch=epoch, criterion=settings.main), model.units(settings.unit))


def random_order(units: Sequence[Unit], seed: int) -> list[Unit]:
    """Return units in a random order that depends only on the seed and the units."""
    return random.Random(f"order {seed}").sample(sorted(units), len(units))


def top_first(units: Sequence[Unit]) -> list[Unit]:
    """Return units from the top layers down, a control without scores (HARP prunes high layers first).

    The height of a head is its layer as a share of the layers of its kind among `units`: the last layers of an encoder
    and of a decoder have the same height, also if their numbers of layers differ. At one height the kinds
    follow from the output down, A, D, E. The heads of a site are in the order of their numbers, which means nothing.
    """
    heads = join_units(units)
    layers = {kind: max(head.layer for head in heads if head.kind == kind) for kind in {head.kind for head in heads}}

    def place(unit: Unit) -> tuple[float, int, Unit]:
        return -unit[0].layer / layers[unit[0].kind], _FROM_THE_OUTPUT.index(unit[0].kind), unit

    return sorted(units, key=place)


def bottom_first(units: Sequence[Unit]) -> list[Unit]:
    """Return units from the bottom layers up, a control: the reverse of `top_first`."""
    return top_first(units)[::-1]


def control_orders(name: str, units: Sequence[Unit], *, draws: int) -> list[Order]:
    """Return the orders of a control without scores: random ones with seeds from 0, or a single one by layers."""
    if name == "random":
        return [Order(name, random_order(units, draw), draw=draw) for draw in range(draws)]
    return [Order(name, {"top-first": top_first, "bottom-first": bottom_first}[name](units))]


def step_sizes(units: int, step: float) -> list[int]:
    """Return the number of removed units at each point of a curve: from 0 in steps of about the share `step` to all.

    Counts are rounded to whole units and distinct, and the last is exactly `units`.
    """
    points = round(1 / step)
    return sorted({round(units * point / points) for point in range(points + 1)})


def rescore_order(
    units: Sequence[Unit], sizes: Sequence[int], scores: Callable[[frozenset[Head]], Mapping[Head, float]]
) -> list[Unit]:
    """Return the removal order in which the remaining heads are re-scored after every step.

    `sizes` are the numbers of removed units at each point, from `step_sizes`; `scores` scores all heads under a
    profile.
    """
    order: list[Unit] = []
    for size in sizes[1:]:
        rest = [unit for unit in units if unit not in set(order)]
        order += least_important_first(scores(join_units(order)), rest)[: size - len(order)]
    return order


def take_first(order: Sequence[Unit], count: int) -> frozenset[Head]:
    """Return the profile of the first `count` units of an order.

    Raises:
        HeadroomError: If the order has fewer units.
    """
    if not 0 <= count <= len(order):
        raise HeadroomError(f"share of heads: cannot remove {count}, the model has {len(order)} in scope; remove fewer")
    return join_units(order[:count])


def profiles(order: Order, step: float) -> list[frozenset[Head]]:
    """Return the profiles of a curve, from no head removed to all, in steps of about the share `step`."""
    return [take_first(order.units, count) for count in step_sizes(len(order.units), step)]
