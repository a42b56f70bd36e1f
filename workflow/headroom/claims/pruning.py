"""Pruning curves: how far heads can go, by which order, and what then remains (Michel et al. 2019, section 4)."""

import numpy
import pandas

from headroom.claims.evidence import Curve, curve_by, each_order, number, task_kind
from headroom.claims.selection import last_epochs, main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number, Reading, above, all_of
from headroom.core.curves import removable, removable_share
from headroom.core.statistics import Estimate

Order = tuple[str, str]
"""A criterion and its normalisation."""


@each_order("pruning")
def prunable(rows: pandas.DataFrame, order: Order, *, asked: float, margin: float) -> Reading | None:
    """Decide whether a share of all heads can be removed without noticeable loss."""
    return _prunable(rows, order, asked, margin)


def _prunable(rows: pandas.DataFrame, order: Order, asked: float, margin: float) -> Reading | None:
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


def removable_number(curve: Curve, margin: float) -> Number:
    """Return the removable share of a curve (see `core.curves`), with that of every resample."""
    resampled = removable(curve.removed, curve.kept[1:], margin)
    return Number("removable", removable_share(curve.removed, curve.kept, margin), "share", resampled=resampled)


@each_order("pruning")
def other_tasks(rows: pandas.DataFrame, order: Order, *, asked: float, kept: float, margin: float) -> Reading | None:
    """Decide whether heads of another task, or of a smaller translation model, can be removed.

    `prunable` judges classifiers; a translation model has to keep the share `kept` of its score.
    """
    if task_kind(rows) != "translation":
        return _prunable(rows, order, asked, margin)
    curve = curve_by(rows, order)
    point = None if curve is None else curve.at(asked)
    if point is None:
        return None
    found = number("kept", point)
    return Reading(above(found.found, kept), (found,))


@each_order("pruning", "ablation")
def gradient_beats_ablation(rows: pandas.DataFrame, order: Order, ablation: pandas.DataFrame) -> Reading | None:
    """Decide whether the area under the gradient order's curve is larger than under that of the ablation order."""
    ours, theirs, chance = (curve_by(rows, key) for key in (order, ("ablation", ""), ("random", "")))
    if ours is None or theirs is None:
        return None
    numbers = [number("over_ablation", ours.area - theirs.area, signed=True)]
    if chance is not None:
        numbers.append(number("over_random", ours.area - chance.area, signed=True))
    numbers += _ties(ablation)
    return Reading(above(numbers[0].found, 0.0), tuple(numbers))


def _ties(ablation: pandas.DataFrame) -> list[Number]:
    """Return how many heads have the same ablation effect as another, on which the ablation order is based."""
    rows = rows_where(last_epochs(ablation), set="choose")
    effects = rows_where(rows, metric=main_metric(rows))["delta"]
    return [Number("ties", Estimate(float(effects.duplicated(keep=False).mean())), "share")] if len(effects) else []


@each_order("pruning")
def drops_sharply(rows: pandas.DataFrame, order: Order, *, remnant: float, steepness: float) -> Reading | None:
    """Decide whether the score drops sharply and little is left of a model with few heads."""
    curve = curve_by(rows, order)
    if curve is None or len(curve.removed) < 4:
        return None
    removed, kept = curve.removed[:-1], curve.kept[:, :-1]  # without the end, where no head is left
    steepest = number("steepest", (-numpy.diff(kept) / numpy.diff(removed)).max(axis=1), "number")
    left = number("left", kept[:, -1], removed=float(removed[-1]))
    return Reading(all_of(above(steepest.found, steepness), above(-left.found, -remnant)), (left, steepest))


def cross_attention_needs_more(tables: StudyTables, *, removed: float) -> list[Reading]:
    """Decide whether encoder-decoder attention keeps less of the score than either self-attention does."""
    return kind_needs_more(tables, "A", removed=removed)


def kind_needs_more(tables: StudyTables, kind: str, *, removed: float) -> list[Reading]:
    """Decide whether a kind of attention keeps less of the score than each other one, with as many of it removed."""
    return _needs_more(tables, kind=kind, removed=removed)


@each_order("pruning")
def _needs_more(rows: pandas.DataFrame, order: Order, *, kind: str, removed: float) -> Reading | None:
    names = {"E": "encoder", "A": "cross", "D": "decoder"}
    curves = {one: curve_by(rows, order, one) for one in names}
    points = {one: curve.at(removed) for one, curve in curves.items() if curve is not None}
    known = {one: point for one, point in points.items() if point is not None}
    if len(known) < len(names):
        return None
    others = [one for one in names if one != kind]
    less = [number(f"{names[one]}_less", known[one] - known[kind], signed=True) for one in others]
    kept = [number(names[one], known[one]) for one in (kind, *others)]
    return Reading(all_of(*(above(one.found, 0.0) for one in less)), (*kept, *less))
