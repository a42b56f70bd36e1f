"""Pruning curves: how far heads can go, by which order, and what then remains (Michel et al. 2019, section 4)."""

import numpy
import pandas

from headroom.claims.evidence import Curve, by_orders, curve_by, number
from headroom.claims.selection import last_epochs, main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number, Reading, above, all_of
from headroom.core.curves import removable, removable_share
from headroom.core.statistics import Estimate

Order = tuple[str, str]
"""A criterion and its normalisation."""


def prunable(tables: StudyTables, *, asked: float, margin: float) -> list[Reading]:
    """Decide whether a share of all heads can be removed without noticeable loss.

    Args:
        tables: The tables of one task.
        asked: The share of heads.
        margin: Losing more than this share of the score is noticeable.
    """

    def read(rows: pandas.DataFrame, order: Order) -> Reading | None:
        curve = curve_by(rows, order)
        if curve is None:
            return None
        share = removable_number(curve, margin)
        numbers = [share]
        point = curve.at(asked)
        if point is not None:
            numbers.append(number("kept", point))
        # points are multiples of a step: a share within half a head of the required one counts as reached
        return Reading(above(share.found, asked - 0.5 / curve.heads), tuple(numbers))

    return by_orders(tables, "pruning", read)


def removable_number(curve: Curve, margin: float) -> Number:
    """Return the removable share of a curve (see `core.curves`), with that of every resample."""
    resampled = removable(curve.removed, curve.kept[1:], margin)
    return Number("removable", removable_share(curve.removed, curve.kept, margin), "share", resampled=resampled)


def other_tasks(tables: StudyTables, *, asked: float, kept: float, margin: float) -> list[Reading]:
    """Decide whether heads of another task or of a smaller model can be removed.

    Args:
        tables: The tables of one task.
        asked: The share of heads that is removed: without noticeable loss, of classifiers.
        kept: What a translation model keeps of its score.
        margin: As of `prunable`.
    """
    if tables.task != "translation":
        return prunable(tables, asked=asked, margin=margin)

    def read(rows: pandas.DataFrame, order: Order) -> Reading | None:
        curve = curve_by(rows, order)
        point = None if curve is None else curve.at(asked)
        if point is None:
            return None
        found = number("kept", point)
        return Reading(above(found.found, kept), (found,))

    return by_orders(tables, "pruning", read)


def gradient_beats_ablation(tables: StudyTables) -> list[Reading]:
    """Decide whether the area under the gradient order's curve is larger than under that of the ablation order."""

    def read(rows: pandas.DataFrame, order: Order) -> Reading | None:
        ours, theirs, chance = (curve_by(rows, key) for key in (order, ("ablation", ""), ("random", "")))
        if ours is None or theirs is None:
            return None
        numbers = [number("over_ablation", ours.area - theirs.area, signed=True)]
        if chance is not None:
            numbers.append(number("over_random", ours.area - chance.area, signed=True))
        numbers += _ties(tables, str(rows["run"].iloc[0]))
        return Reading(above(numbers[0].found, 0.0), tuple(numbers))

    return by_orders(tables, "pruning", read)


def _ties(tables: StudyTables, run: str) -> list[Number]:
    """Return how many heads have the same ablation effect as another, on which the ablation order is based."""
    rows = rows_where(last_epochs(tables.ablation), run=run, set="choose")
    effects = rows_where(rows, metric=main_metric(rows))["delta"]
    return [Number("ties", Estimate(float(effects.duplicated(keep=False).mean())), "share")] if len(effects) else []


def drops_sharply(tables: StudyTables, *, remnant: float, steepness: float) -> list[Reading]:
    """Decide whether the score drops sharply and little is left of a model with few heads.

    Args:
        tables: The tables of one task.
        remnant: A model that keeps less than this share of its score is broken.
        steepness: A step is sharp if it loses this many times what a straight line down would.
    """

    def read(rows: pandas.DataFrame, order: Order) -> Reading | None:
        curve = curve_by(rows, order)
        if curve is None or len(curve.removed) < 4:
            return None
        removed, kept = curve.removed[:-1], curve.kept[:, :-1]  # without the end, where no head is left
        steepest = number("steepest", (-numpy.diff(kept) / numpy.diff(removed)).max(axis=1), "number")
        left = number("left", kept[:, -1], removed=float(removed[-1]))
        return Reading(all_of(above(steepest.found, steepness), above(-left.found, -remnant)), (left, steepest))

    return by_orders(tables, "pruning", read)


def cross_attention_needs_more(tables: StudyTables, *, removed: float) -> list[Reading]:
    """Decide whether encoder-decoder attention keeps less of the score than either self-attention does.

    Args:
        tables: The tables of one task.
        removed: The share of the heads of one kind that is removed.
    """
    return kind_needs_more(tables, "A", removed=removed)


def kind_needs_more(tables: StudyTables, kind: str, *, removed: float) -> list[Reading]:
    """Decide whether a kind of attention keeps less of the score than each other one, with as many of it removed."""
    names = {"E": "encoder", "A": "cross", "D": "decoder"}

    def read(rows: pandas.DataFrame, order: Order) -> Reading | None:
        curves = {one: curve_by(rows, order, one) for one in names}
        points = {one: curve.at(removed) for one, curve in curves.items() if curve is not None}
        known = {one: point for one, point in points.items() if point is not None}
        if len(known) < len(names):
            return None
        others = [one for one in names if one != kind]
        less = [number(f"{names[one]}_less", known[one] - known[kind], signed=True) for one in others]
        kept = [number(names[one], known[one]) for one in (kind, *others)]
        return Reading(all_of(*(above(one.found, 0.0) for one in less)), (*kept, *less))

    return by_orders(tables, "pruning", read)
