"""Pruning curves: how far heads can go, by which order, and what then remains (Michel et al. 2019, section 4)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import (
    Curve,
    counts_labels,
    curve_by,
    each_order,
    each_run,
    has_skill,
    iterate_scaled_runs,
    main_curve,
    number,
    orders_in,
)
from headroom.claims.verdict import HOLDS, Number, Reading, above, below, pool, together
from headroom.core.curves import removable, removable_share
from headroom.core.heads import KINDS
from headroom.core.statistics import Estimate, over_runs
from headroom.study.selection import last_epochs, main_metric, rows_where, select_judged
from headroom.study.tables import StudyTables

Order = tuple[str, str]
"""A criterion and its normalisation."""

HALF = 0.5
"""The share of heads at which the paper's two orders differ most clearly."""


@each_order("pruning")
def prunable(
    rows: pandas.DataFrame, order: Order, *, asked: float, margin: float, small: float, large: float
) -> Reading | None:
    """Decide whether a share of all heads can be removed without noticeable loss.

    That is `asked` in models with at least `large` heads, and `small` in others.
    """
    curve = curve_by(rows, order)
    return None if curve is None else _prunable(curve, asked if curve.heads >= large else small, margin)


def _prunable(curve: Curve, asked: float, margin: float) -> Reading:
    # points are multiples of a step: a share within half a head of the required one counts as reached
    share = replace(removable_number(curve, margin), asked=above(asked - 0.5 / curve.heads))
    point = curve.at(asked)
    return Reading((share,) if point is None else (share, number("kept", point, removed=asked)))


def removable_number(curve: Curve, margin: float) -> Number:
    """Return the removable share of a curve (see `core.curves`), with that of every resample."""
    found = removable_share(curve.removed, curve.kept, margin)
    resampled = removable(curve.removed, curve.kept[1:], margin)
    return Number("removable", found, "share", limits=(0.0, 1.0), resampled=resampled, ends="bounds")


@each_order("pruning")
def other_tasks(rows: pandas.DataFrame, order: Order, *, asked: float, kept: float, margin: float) -> Reading | None:
    """Decide whether heads of another task, or of a smaller model, can be removed.

    `prunable` judges classifiers; other models have to keep the share `kept` of their score.
    """
    curve = curve_by(rows, order)
    if curve is None:
        return None
    if counts_labels(rows):
        return _prunable(curve, asked, margin)
    point = curve.at(asked)
    return None if point is None else Reading((number("kept", point, asked=above(kept), removed=asked),))


@each_run("pruning", "ablation", shares=True)
def gradient_beats_ablation(rows: pandas.DataFrame, ablation: pandas.DataFrame) -> list[Reading]:
    """Decide by every gradient order whether the area under its curve is larger than under the ablation order's."""
    theirs, chance = (curve_by(rows, key) for key in (("ablation", ""), ("random", "")))
    if theirs is None:
        return []
    orders = {order: curve_by(rows, order) for order in orders_in(rows) if order[0].startswith("gradient")}
    found = {", ".join(order): curve for order, curve in orders.items() if curve is not None}
    ties = _ties(ablation)
    return [Reading((*_gains(ours, theirs, chance), *ties), part=name) for name, ours in found.items()]


def _gains(ours: Curve, theirs: Curve, chance: Curve | None) -> list[Number]:
    """Return what an order's curve gains on that of the ablation order, and on the random one."""
    numbers = [number("over_ablation", ours.area - theirs.area, signed=True, asked=above(0.0))]
    points = ours.at(HALF), theirs.at(HALF)
    if points[0] is not None and points[1] is not None:
        numbers.append(number("at_half", points[0] - points[1], signed=True))
    if chance is not None:
        numbers.append(number("over_random", ours.area - chance.area, signed=True))
    return numbers


def _ties(ablation: pandas.DataFrame) -> list[Number]:
    """Return how many heads have the same ablation effect as another, on which the ablation order is based."""
    rows = rows_where(last_epochs(ablation), set="choose")
    effects = rows_where(rows, metric=main_metric(rows))["delta"]
    return [Number("ties", Estimate(float(effects.duplicated(keep=False).mean())), "share")] if len(effects) else []


@each_order("pruning")
def drops_sharply(rows: pandas.DataFrame, order: Order, *, part: float, drop: float, remnant: float) -> Reading | None:
    """Decide whether the score drops sharply after some heads are gone, and a model with few heads has lost much.

    A straight line from the full score to 0 loses as much of the score as of the heads. The score has to lose `drop`
    with some `part` of the heads, after more than this part of the heads has cost this part of the score.
    """
    curve = curve_by(rows, order)
    if curve is None or len(curve.removed) < 4:
        return None
    removed, kept = curve.removed[:-1], curve.kept[:, :-1]  # without the end, where no head is left
    limits = (0.0, 1.0)
    numbers = (
        number("drop", _steepest(removed, kept, part), asked=above(drop)),
        number("before", removable(removed, kept, part), asked=above(part), limits=limits),
        number("left", kept[:, -1], asked=below(remnant), removed=float(removed[-1])),
    )
    return Reading(numbers)


def _steepest(removed: ndarray, kept: ndarray, part: float) -> ndarray:
    """Return the largest loss of curves between two points that are a part of the heads apart, (rows,)."""
    starts = numpy.r_[removed, removed - part]  # between these a piecewise linear curve has no larger one
    starts = starts[(starts >= removed[0]) & (starts + part <= removed[-1] + 1e-9)]
    ends = starts + part
    return numpy.array([(numpy.interp(starts, removed, row) - numpy.interp(ends, removed, row)).max() for row in kept])


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
    less = [number(f"{names[one]}_less", known[one] - known[kind], signed=True, asked=above(0.0)) for one in others]
    kept = [number(names[one], known[one]) for one in (kind, *others)]
    return Reading((*kept, *less))


def skilled_runs(tables: StudyTables) -> Iterator[Reading]:
    """Yield the number of runs that score enough above chance for shares of it, where curves were run."""
    if tables.has("pruning"):
        yield Reading((Number("skilled_runs", Estimate(float(len(_with_skill(tables)))), "count"),))


def _with_skill(tables: StudyTables) -> list[pandas.DataFrame]:
    return [rows for rows in iterate_scaled_runs(tables, "pruning") if has_skill(rows)]


def kept_of_kinds(tables: StudyTables, *, removed: float) -> Iterator[Reading]:
    """Yield what is kept with most heads of one kind removed, and which kind keeps less than both others."""
    found = {kind: pool(kind_needs_more(tables, kind, removed=removed)) for kind in KINDS}
    known = {kind: one for kind, one in found.items() if one is not None and not one.barrier}
    if len(known) < len(KINDS):
        return
    yield Reading((Number("removed_of_kind", Estimate(removed), "share"),))
    for kind, one in known.items():
        yield Reading((replace(one.numbers[0], name="kept_of_kind"),), part=kind)
    for kind, one in known.items():
        if one.verdict == HOLDS:
            yield Reading((Number("stands_out", Estimate(1.0), "count"),), part=kind)


def gains_of_main_order(tables: StudyTables) -> Iterator[Reading]:
    """Yield what the order that claims are judged by keeps beyond random orders, and beyond that by ablation."""
    for order in ("random", "ablation"):
        curves = [(main_curve(rows), curve_by(rows, (order, ""))) for rows in _with_skill(tables)]
        gains = [number("gain_over", ours.area - other.area, signed=True) for ours, other in curves if ours and other]
        if gains:
            yield Reading((together(gains),), part=order)


def average_main_curve(tables: StudyTables) -> tuple[Order, list[dict[str, float]]]:
    """Return the order that claims are judged by, and its points: shares removed and kept, with `low` and `high`.

    It is the mean over the runs of the baseline whose models score enough above chance for shares; no points without.
    """
    runs = _with_skill(tables)
    orders = orders_in(rows_where(select_judged(runs[0]), scope="all")) if runs else []
    if not orders:
        return ("", ""), []
    curves = [curve for rows in runs if (curve := curve_by(rows, orders[0])) is not None]
    alike = [curve for curve in curves if list(curve.removed) == list(curves[0].removed)]
    points = []
    for place, removed in enumerate(alike[0].removed if alike else ()):
        kept = [curve.kept[:, place] for curve in alike]
        found = over_runs([float(one[0]) for one in kept], [one[1:] for one in kept])
        points.append({"removed": float(removed), **found._asdict()})
    return orders[0], points
