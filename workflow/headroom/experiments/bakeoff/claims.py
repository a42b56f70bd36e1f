"""Criteria compared at equal numbers of heads: areas of their curves, their cost, re-scoring, repair, retraining."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import (
    build_curve,
    by_run,
    compute_kept,
    each_run,
    has_skill,
    number,
    refuse_without_skill,
)
from headroom.claims.verdict import Number, Reading, above
from headroom.core.curves import mean_of_draws
from headroom.core.statistics import Estimate
from headroom.methods.criteria import criterion
from headroom.methods.orders import CONTROLS
from headroom.study.selection import examples_in, rows_where, select_judged, with_scale
from headroom.study.tables import StudyTables

NO_REPAIR = "none"


class Way(NamedTuple):
    """An order of heads, and what is done with what is left."""

    order: str
    ranking: str = "fixed"
    repair: str = NO_REPAIR


@dataclass(frozen=True)
class Areas:
    """The areas under the curves of one run.

    Attributes:
        run: The run.
        found: By way, (1 + samples,), the measured area first.
        examples: How many examples they rest on.
    """

    run: str
    found: Mapping[Way, ndarray]
    examples: int


ROUNDING = 0.05
"""Passes that a criterion of one pass may exceed it by, e.g. for the layers below the first site."""

MEDIAN = "median of criteria"
"""The part of a claim that is about the median of what each criterion gains."""

ONE_RUN = Reading((), barrier="other runs, in which what is compared is chosen: there is one run")
"""The reading of a single run where criteria or repairs are chosen on other runs."""

Choice = Callable[[Way], bool]


def areas(tables: StudyTables) -> list[Areas]:
    """Return the areas under all curves of each run of the baseline that has enough skill for shares of its score."""
    found = []
    for rows in by_run(tables.pruning_compared, tables):
        rows = select_judged(with_scale(rows))
        if not has_skill(rows):
            continue
        own = {
            Way(*map(str, key)): build_curve(part)
            for key, part in rows.groupby(["order", "ranking", "repair"], sort=False)
        }
        known = {way: curve.area for way, curve in own.items() if curve is not None}
        found.append(Areas(str(rows["run"].iloc[0]), known, examples_in(rows)))
    return found


def some_beats_random(tables: StudyTables) -> list[Reading]:
    """Decide whether the best criterion of the other runs keeps more of the score than random orders do."""
    return _best_over(tables, Way("random"), "over_random")


def some_beats_top_first(tables: StudyTables) -> list[Reading]:
    """Decide whether the best criterion of the other runs keeps more than removing the top layers first."""
    return _best_over(tables, Way("top-first"), "over_top_first")


def cheap_suffices(tables: StudyTables, *, margin: float) -> list[Reading]:
    """Decide whether a criterion of at most one pass forward and backward keeps as much as any costlier one."""
    costs = tables.scores_costs.groupby("criterion")[["forward", "backward"]].mean().max(axis=1)

    def cheap(name: str) -> bool:
        known = name in costs.index
        return bool(costs[name] < 1 + ROUNDING) if known else criterion(name).needs in ("none", "forward")

    return _suffices(tables, cheap, margin)


def unlabelled_suffices(tables: StudyTables, *, margin: float) -> list[Reading]:
    """Decide whether a criterion without references keeps as much as any with them."""
    return _suffices(tables, lambda name: not criterion(name).labels, margin)


def rescoring_helps(tables: StudyTables) -> list[Reading]:
    """Decide whether scoring the remaining heads again after every step keeps more, apart for every criterion."""

    def read(own: Areas, _: list[Areas]) -> list[Reading]:
        again = [way for way in own.found if way.ranking == "rescored" and way.repair == NO_REPAIR]
        pairs = [(way, Way(way.order)) for way in again]
        gains = {way.order: own.found[way] - own.found[once] for way, once in pairs if once in own.found}
        if len(gains) > 1:
            gains = {MEDIAN: numpy.median(list(gains.values()), axis=0)} | gains
        return [
            Reading((number("gain", gain, signed=True, asked=above(0.0), order=name),), part=name)
            for name, gain in gains.items()
        ]

    return _read(tables, read)


def repair_matters_more(tables: StudyTables) -> list[Reading]:
    """Decide whether the best repair gains more, on average over criteria, than the best criterion over the median one.

    The repair and the criterion are those that are best in the other runs.
    """

    def read(own: Areas, others: list[Areas]) -> list[Reading]:
        plain = [way for way in own.found if is_criterion(way)]
        repairs = list(dict.fromkeys(way.repair for way in own.found if way.repair != NO_REPAIR))
        if not plain or not repairs:
            return []
        if not others:
            return [ONE_RUN]
        gains = {repair: [_gain(one, plain, repair) for one in (*others, own)] for repair in repairs}
        repair = max(repairs, key=lambda name: sum(float(gain[0]) for gain in gains[name][:-1]))
        best = find_best(others, is_criterion)
        median = numpy.median([own.found[way] for way in plain], axis=0)
        by_repair, by_criterion = gains[repair][-1], own.found[best] - median
        chosen = {"repair": repair, "order": best.order}
        more = number("more", by_repair - by_criterion, signed=True, chosen=chosen, asked=above(0.0))
        parts = (number("repair", by_repair, signed=True), number("criterion", by_criterion, signed=True))
        return [Reading((more, *parts))]

    return _read(tables, read)


@each_run("bakeoff_retraining", shares=True)
def good_keeps_more_after_training(rows: pandas.DataFrame) -> Reading | None:
    """Decide whether a good layout keeps more of the score after further training than random ones of its size."""
    rows = select_judged(rows)
    after = rows_where(rows, updates=rows["updates"].max())
    kept = {
        str(name): mean_of_draws([compute_kept(row) for _, row in own.iterrows()])
        for name, own in after.groupby("layout")
    }
    if not {"good", "random", "bad", "full"} <= set(kept):
        return None
    first = rows_where(after, layout="good").iloc[0]
    removed = Number("removed", Estimate(float(first["heads_removed"] / first["heads_total"])), "share")
    gain = kept["good"] - kept["random"]
    more = number("more", gain, signed=True, asked=above(0.0), order=str(first["criterion"]))
    layouts = [number(name, kept[name]) for name in ("good", "random", "bad", "full")]
    return Reading((more, *layouts, removed))


def is_criterion(way: Way) -> bool:
    """Return whether curves are of a criterion, scored once, without repair."""
    return way.order not in CONTROLS and way.ranking == "fixed" and way.repair == NO_REPAIR


def find_best(runs: Iterable[Areas], chosen: Choice) -> Way:
    """Return the way with the largest mean area over runs, of those that all of them have."""
    runs = list(runs)
    common = [way for way in runs[0].found if chosen(way) and all(way in one.found for one in runs)]
    return max(common, key=lambda way: sum(float(one.found[way][0]) for one in runs))


def _gain(own: Areas, plain: list[Way], repair: str) -> ndarray:
    """Return the mean gain of a repair over ways without, (1 + samples,)."""
    pairs = [(own.found[way._replace(repair=repair)], own.found[way]) for way in plain]
    return numpy.mean([more - less for more, less in pairs], axis=0)


def _best_over(tables: StudyTables, control: Way, name: str) -> list[Reading]:
    def read(own: Areas, others: list[Areas]) -> list[Reading]:
        if control not in own.found:
            return []
        if not others:
            return [ONE_RUN]
        best = find_best(others, is_criterion)
        gain, chosen = own.found[best] - own.found[control], {"order": best.order}
        over = number(name, gain, signed=True, chosen=chosen, asked=above(0.0))
        return [Reading((over, number("area", own.found[best], "number")))]

    return _read(tables, read)


def _suffices(tables: StudyTables, frugal: Callable[[str], bool], margin: float) -> list[Reading]:
    """Decide whether the best frugal criterion of the other runs keeps as much as their best other one."""

    def read(own: Areas, others: list[Areas]) -> list[Reading]:
        ways = [way for way in own.found if is_criterion(way)]
        kinds = {frugal(way.order) for way in ways}
        if len(kinds) < 2:
            return []
        if not others:
            return [ONE_RUN]
        first = find_best(others, lambda way: is_criterion(way) and frugal(way.order))
        second = find_best(others, lambda way: is_criterion(way) and not frugal(way.order))
        found, chosen = own.found[first] - own.found[second], {"order": first.order, "other": second.order}
        return [Reading((number("less", found, signed=True, chosen=chosen, asked=above(-margin)),))]

    return _read(tables, read)


def _read(tables: StudyTables, read: Callable[[Areas, list[Areas]], list[Reading]]) -> list[Reading]:
    """Return the readings of each run, given its areas and those of the other runs.

    Where no run has enough skill for shares of its score, all are not comparable; else those without are left out.
    """
    runs = areas(tables)
    if not runs:
        every = [(rows, refuse_without_skill(with_scale(rows))) for rows in by_run(tables.pruning_compared, tables)]
        return [replace(one, run=str(rows["run"].iloc[0])) for rows, one in every if one]
    return [
        replace(reading, run=own.run, examples=own.examples)
        for own in runs
        for reading in read(own, [one for one in runs if one is not own])
    ]
