"""How many heads can be removed at a tolerance: the order is chosen on one set, their number is tested on another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.interventions import Intervention, Repair
from headroom.core.statistics import Estimate, estimate_share, interval
from headroom.methods.orders import Order, take_first

if TYPE_CHECKING:
    from headroom.methods.judging import Judge

FEW = 10
"""Fewer changed examples than this say little of how many others would change: their number is bounded exactly."""


@dataclass(frozen=True)
class Tried:
    """A number of heads, removed by an order, on one set.

    Attributes:
        order: The name of the order.
        normalised: How its scores are normalised.
        removed: The removed heads.
        set: The set.
        value: The score without them.
        full: The score of the full model.
        loss: The lost share of the score (above chance), with its 95 % interval.
        within: Whether the interval's upper end is at most the tolerance.
    """

    order: str
    normalised: str
    removed: frozenset[Head]
    set: str
    value: float
    full: float
    loss: Estimate
    within: bool


@dataclass(frozen=True)
class Removable:
    """The largest number of heads whose removal costs at most a tolerance on held-out examples.

    Attributes:
        order: The order that loses least on the set that chooses it.
        compared: What was tried on that set.
        tried: What was tested on held-out examples, from no head on; the last one may be above the tolerance.
    """

    order: Order
    compared: Sequence[Tried]
    tried: Sequence[Tried]

    @property
    def removed(self) -> frozenset[Head]:
        """The heads that can go."""
        return next((one.removed for one in reversed(self.tried) if one.within), frozenset())


def find_removable(
    chooser: Judge, held_out: Judge, orders: Sequence[Order], tolerance: float, repair: Repair = "none"
) -> Removable:
    """Find the largest number of heads, in the best of some orders, whose loss is at most a tolerance.

    The order is the one that removes most at this loss on the set of `chooser`, by the loss itself. Numbers of units
    are then tested on held-out examples in a fixed sequence, 1, 2, 3, ..., to the first one whose interval exceeds the
    tolerance: so the chance that what is removed loses more than that on other examples is at most 2.5 %, however many
    numbers are tested.

    Raises:
        HeadroomError: If there is no order, or if the model scores no more than chance on a set.
    """
    if not orders:
        raise HeadroomError("orders: none; give at least one criterion")
    if lack := find_lack_of_skill(chooser) or find_lack_of_skill(held_out):
        raise HeadroomError(lack)
    searched = [search_order(chooser, order, tolerance, repair) for order in orders]
    most = [max(found, key=lambda one: (one.loss.value <= tolerance, len(one.removed))) for found in searched]
    best = max(range(len(orders)), key=lambda place: (len(most[place].removed), -most[place].loss.value))
    tried: list[Tried] = []
    for count in range(len(orders[best].units) + 1):
        tried.append(remove_first(held_out, orders[best], count, tolerance, repair))
        if not tried[-1].within:
            break
    return Removable(orders[best], [one for found in searched for one in found], tried)


def search_order(judge: Judge, order: Order, tolerance: float, repair: Repair = "none") -> list[Tried]:
    """Search for the largest number of units of an order whose loss itself is at most a tolerance.

    Numbers are doubled until the loss is larger; then the interval between the last two is halved.
    """
    tried = [remove_first(judge, order, 0, tolerance, repair)]
    low, high, count = 0, len(order.units) + 1, 1
    while high - low > 1:
        tried.append(remove_first(judge, order, count, tolerance, repair))
        low, high = (count, high) if tried[-1].loss.value <= tolerance else (low, count)
        count = min(2 * count, len(order.units)) if high > len(order.units) else (low + high) // 2
    return tried


def remove_first(judge: Judge, order: Order, count: int, tolerance: float, repair: Repair = "none") -> Tried:
    """Return the loss without the first units of an order."""
    intervention = Intervention(take_first(order.units, count), repair=repair if count else "none")
    loss, metric = lost_share(judge, intervention), judge.set.metrics[0]
    scores = judge.full.scores[metric], judge.outcome(intervention).scores[metric]
    return Tried(
        order=order.order,
        normalised=order.normalised,
        removed=intervention.removed,
        set=judge.set.name,
        value=scores[1],
        full=scores[0],
        loss=loss,
        within=loss.high <= tolerance,
    )


def find_lack_of_skill(judge: Judge) -> str:
    """Return that the model scores no more than chance, on some resample of the examples; "" if it does on all."""
    metric = judge.set.metrics[0]
    full = judge.full  # first: what chance is depends on the labels, which the model names
    chance = judge.set.chance(metric)
    if full.resampled[metric].min() > chance:
        return ""
    return (
        f"set {judge.set.name}: the model's {metric} is {full.scores[metric]:.4g}, not clearly above chance "
        f"({chance:.4g}); what heads are worth cannot be seen, give other examples or more"
    )


def lost_share(judge: Judge, intervention: Intervention) -> Estimate:
    """Return the share of the main metric (above chance) that an intervention loses, with its 95 % interval.

    The interval is that of paired resamples. These do not see that other examples may change: with fewer than `FEW`
    changed ones the upper end is at least that of their exact (Clopper-Pearson) share, as if each lost everything.
    Changed clusters are counted instead where there are as many as that.
    Of a model that scores no more than chance nothing is known: NaN.
    """
    if not intervention:
        return Estimate(0.0, 0.0, 0.0)
    if find_lack_of_skill(judge):
        return Estimate(math.nan, math.nan, math.nan)
    metric = judge.set.metrics[0]
    chance, full, other = judge.set.chance(metric), judge.full, judge.outcome(intervention)
    before, after = full.resampled[metric] - chance, other.resampled[metric] - chance  # (resamples,)
    value = (full.scores[metric] - other.scores[metric]) / (full.scores[metric] - chance)
    low, high = interval((before - after) / before)
    differ = (full.sample.statistics[metric] != other.sample.statistics[metric]).any(axis=1)  # (examples,)
    by_cluster = numpy.bincount(judge.set.clusters, weights=differ) > 0
    counted = by_cluster if len(by_cluster) >= FEW else differ
    if counted.sum() < FEW:
        high = max(high, estimate_share(counted.mean(), len(counted)).high)
    return Estimate(float(value), float(low), float(numpy.maximum(high, value)))
