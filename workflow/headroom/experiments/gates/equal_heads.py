"""Ways to choose heads at equal numbers of heads, with as much further training."""

import math
from collections.abc import Iterator
from typing import Any

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import compute_kept, iterate_scaled_runs
from headroom.core.statistics import Estimate, over_runs
from headroom.experiments.gates.claims import (
    CONTINUED,
    GRADIENT,
    HARD_CONCRETE,
    RANDOM,
    RANDOM_SCRATCH,
    SCRATCH,
    find_continued,
    hard,
    models,
    read_between,
)
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables

AT_LEVELS = (GRADIENT, RANDOM)
"""The ways to choose a given number of heads."""

WAYS = (HARD_CONCRETE, *AT_LEVELS, CONTINUED, SCRATCH, RANDOM_SCRATCH)
"""The ways to choose heads, in the order of their rows."""

Kept = tuple[float, ndarray, ndarray]
"""The share of heads, and (1 + samples,) what is kept with a way to choose them, and with learned gates at as many."""


def compare_at_equal_heads(view: StudyTables) -> pandas.DataFrame:
    """Return what every way to choose heads keeps of the full score, and how much less that is than by learned gates.

    A row is a number of heads and a way to choose as many: `kept_heads`, the share of heads in %, `trainings`, `value`,
    `low`, `high`, the score kept in %, and `delta`, `delta_low`, `delta_high`, that score less the one with learned
    gates (hard concrete), paired by training; NaN for these gates themselves, and for all heads. Intervals are for
    other trainings on other sentences.

    Gates choose other numbers of heads than their controls: they are read at the controls' numbers, between the two
    nearest models of the sweep, of which the largest is the model with all heads after the same further training.
    Layouts from scratch are compared with the pruned model that has the same layout.

    The last rows, of the scope "", are of all comparisons with a way to choose a given number of heads that every
    training has: the mean of their differences within a training, `comparisons` of them, 1 in the other rows.
    """
    found: dict[tuple[str, float, str], dict[str, Kept]] = {}
    for rows in iterate_scaled_runs(view, "pruned_models"):
        for scope, own in hard(rows).groupby("scope", sort=False):
            for method, level, kept in _compare_run(own, str(scope)):
                found.setdefault((str(scope), level, method), {})[str(rows["run"].iloc[0])] = kept
    records = [_put_together(*named, list(runs.values())) for named, runs in found.items()]
    order = sorted(records, key=lambda one: (one["scope"] != "E", one["kept_heads"], WAYS.index(one["method"])))
    joint = [_join(method, [runs for (*_, own), runs in found.items() if own == method]) for method in AT_LEVELS]
    return pandas.DataFrame([*order, *filter(None, joint)])


def _join(method: str, comparisons: list[dict[str, Kept]]) -> dict[str, Any] | None:
    """Return the row over all comparisons that every training has; None with fewer than two."""
    runs = list(dict.fromkeys(run for own in comparisons for run in own))
    complete = [own for own in comparisons if len(own) == len(runs)]
    if len(complete) < 2:
        return None
    less = _over_runs([numpy.mean([own[run][1] - own[run][2] for own in complete], axis=0) for run in runs])
    named = {"scope": "", "method": method, "trainings": len(runs), "comparisons": len(complete)}
    return named | {"delta": less.value, "delta_low": less.low, "delta_high": less.high}


def _compare_run(rows: pandas.DataFrame, scope: str) -> Iterator[tuple[str, float, Kept]]:
    """Yield the ways to choose heads of one run: method, level and what is kept.

    The level is the share of heads, of layouts that learned gates found lambda: rows of one level are of one kind in
    all runs.
    """
    sweep = models(rows, HARD_CONCRETE, scope)
    curve = dict(_by_share(sweep))
    if (control := find_continued(rows, scope)) is not None and curve:
        curve[1.0] = compute_kept(control)
        yield CONTINUED, 1.0, (1.0, curve[1.0], curve[1.0])
    levels: dict[float, ndarray] = {}
    for method in AT_LEVELS:
        for share, kept in _by_share(models(rows, method, scope)):
            if curve and min(curve) <= share <= max(curve):
                levels[share], *_ = read_between(curve, share)
                yield method, share, (share, kept, levels[share])
    yield from ((HARD_CONCRETE, share, (share, learned, learned)) for share, learned in levels.items())
    for method in (SCRATCH, RANDOM_SCRATCH):
        for setting, own in rows_where(rows, method=method, scope=scope).groupby("setting"):
            layout = rows_where(sweep, setting=setting)
            for (share, kept), (_, learned) in zip(_by_share(own), _by_share(layout)):
                yield method, float(str(setting)), (share, kept, learned)


def _by_share(rows: pandas.DataFrame) -> Iterator[tuple[float, ndarray]]:
    """Yield what models keep of the score, (1 + samples,), by the share of heads that they have; means of as many."""
    for share, own in rows.groupby(rows["kept"] / rows["heads"]):
        yield float(str(share)), numpy.mean([compute_kept(row) for _, row in own.iterrows()], axis=0)


def _put_together(scope: str, level: float, method: str, runs: list[Kept]) -> dict[str, Any]:
    shares, kept, learned = zip(*runs)
    score = _over_runs(kept)
    is_end = method in (HARD_CONCRETE, CONTINUED)  # of the curve that others are compared with
    less = Estimate(math.nan) if is_end else _over_runs([one - own for one, own in zip(kept, learned)])
    named = {"scope": scope, "level": level, "method": method, "trainings": len(runs), "comparisons": 1}
    found = {"kept_heads": 100 * float(numpy.mean(shares)), "value": score.value, "low": score.low, "high": score.high}
    return named | found | {"delta": less.value, "delta_low": less.low, "delta_high": less.high}


def _over_runs(found: "list[ndarray] | tuple[ndarray, ...]") -> Estimate:
    """Return the mean over runs, in %, of (1 + samples,) values of each, the measured one first."""
    return over_runs([one[0] for one in found], [one[1:] for one in found]).times(100)
