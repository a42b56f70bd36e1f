"""Numbers by arm: means over seeds, and differences from ordinary training of the same model, paired by seed."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy
import pandas
from numpy import ndarray

from headroom.core.curves import MEASURABLE, area, compute_share_kept, removable
from headroom.core.statistics import Estimate, estimate_mean, find_median
from headroom.experiments.arms.paired import BySeed, contrast, opponents
from headroom.study.selection import last_arm_curves, last_epochs, main_criterion, parse_heads, rows_where
from headroom.study.tables import StudyTables, arm_of, seed_of
from headroom.study.task_info import TASKS, kind_of_metric

TWO_SEEDS, SAME_SEED = "two seeds of the arm", "with the baseline, same seed"
"""What two runs are whose important heads are compared."""

SHARES = (0.25, 0.5)
"""Numbers of important heads, as shares of all heads."""


def contrast_arms(tables: StudyTables, quantities: Mapping[str, BySeed]) -> pandas.DataFrame:
    """Return a row per quantity and arm: its mean, and by how much it exceeds that of its opponent, paired by seed.

    Columns are quantity, arm, seeds, value, low, high, other, delta, delta_low, delta_high; the last four are empty or
    NaN for arms that nothing can be compared with. Intervals are 95 % t-intervals over seeds, NaN for a single one, and
    of differences for fewer than three (`over_seeds`).
    """
    against, records = opponents(tables), []
    for quantity, values in quantities.items():
        for arm in (arm for arm in tables.arm_names if arm in values):
            own, other = values[arm].dropna(), against.get(arm, "")
            mean = estimate_mean(own.to_numpy(dtype=float)) if len(own) else Estimate(math.nan)
            less = contrast(values, arm, other)
            row = {"quantity": quantity, "arm": arm, "seeds": " ".join(str(seed) for seed in sorted(own.index))}
            row |= {**mean._asdict(), "other": other if less else ""}
            ends = zip(("delta", "delta_low", "delta_high"), less or Estimate(math.nan))
            records.append({**row, **dict(ends)})
    return pandas.DataFrame(records)


def by_seed(rows: pandas.DataFrame) -> dict[str, "pandas.Series[Any]"]:
    """Return the mean of the values of every run, over what its rows are of, e.g. sites and epochs."""
    return _of_runs(rows, lambda run: float(run["value"].mean()))


def _of_runs(rows: pandas.DataFrame, number: Callable[[pandas.DataFrame], float]) -> dict[str, "pandas.Series[Any]"]:
    found: dict[str, dict[int, float]] = {}
    for run, own in rows.groupby("run", sort=False):
        found.setdefault(arm_of(str(run)), {})[seed_of(str(run))] = number(own)
    return {arm: pandas.Series(values, dtype=float) for arm, values in found.items()}


def of_curves(
    tables: StudyTables, number: Callable[[pandas.DataFrame], float], *, factor: float = 1.0
) -> dict[str, "pandas.Series[Any]"]:
    """Return a number of every run's last pruning curve, e.g. `curve_area`, times a factor."""
    rows = last_arm_curves(tables)
    return _of_runs(rows.assign(task=tables.task), lambda run: factor * number(run)) if len(rows) else {}


def unevenness(tables: StudyTables) -> dict[str, "pandas.Series[Any]"]:
    """Return the Gini coefficient of importance, by the main criterion at the last epoch, of every run."""
    return _of_runs(_last_scores(tables), lambda run: gini(run["value"].to_numpy(dtype=float)))


def _last_scores(tables: StudyTables) -> pandas.DataFrame:
    """Return the raw scores by the main criterion at the last epoch of every run."""
    main = main_criterion(tables.scores)
    return last_epochs(rows_where(tables.scores, criterion=main, normalised="raw"))


def over_epochs(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the mean value of every run and epoch over sites: run, arm, epoch, value."""
    means = rows.groupby(["run", "epoch"], sort=False)["value"].mean().reset_index()
    return means.assign(arm=means["run"].map(arm_of))


def overlaps(tables: StudyTables) -> pandas.DataFrame:
    """Return the share of important heads that two runs have in common: share, arm, pairs, value, number, chance.

    Important are the heads that pruning by the main criterion removes last. A row is a pair of runs with the same heads
    (`single` is true) or the mean over all `number` pairs of an arm; pairs share runs, so the mean has no interval.
    Compared are the seeds of an arm, and an arm with the task's baseline at the same seed.
    """
    against, scores = opponents(tables), _last_scores(tables)
    reference = next((arm for arm in tables.arm_names if arm not in against), "")
    by_run = {run: rows for run in tables.runs if len(rows := rows_where(scores, run=run))}
    orders = {run: sorted(zip(rows["value"], parse_heads(rows))) for run, rows in by_run.items()}
    ranked = {run: [head for _, head in order] for run, order in orders.items()}
    found = []
    for first, second in combinations(ranked, 2):
        heads, others = ranked[first], ranked[second]
        for arm, pairs in _pair(first, second, reference) if set(heads) == set(others) else ():
            for share in SHARES:
                kept = max(1, round(share * len(heads)))
                value = len({*heads[-kept:]} & {*others[-kept:]}) / kept
                one = {"share": share, "arm": arm, "pairs": pairs, "value": value, "number": 1}
                found.append({**one, "chance": kept / len(heads), "single": True})
    frame = pandas.DataFrame(found)
    if frame.empty:
        return frame
    groups = frame.groupby(["share", "arm", "pairs", "chance"], sort=False)["value"]
    means = groups.agg(value="mean", number="size").reset_index().assign(single=False)
    return pandas.concat([frame, means], ignore_index=True)


def _pair(first: str, second: str, reference: str) -> Iterator[tuple[str, str]]:
    """Yield the arm that two runs say something of, and what they are, if anything."""
    arm, other = arm_of(first), arm_of(second)
    if arm == other:
        yield arm, TWO_SEEDS
    elif reference in (arm, other) and seed_of(first) == seed_of(second):
        yield other if arm == reference else arm, SAME_SEED


def ratios(tables: StudyTables, arm: str, reference: str) -> "pandas.Series[float]":
    """Return how many times a reference's update one of an arm takes, round by round."""
    seconds = tables.update_cost.pivot_table(index="repeat", columns="arm", values="seconds")
    if not {arm, reference} <= set(seconds.columns):
        return pandas.Series(dtype=float)
    return (seconds[arm] / seconds[reference]).dropna()


def update_times(tables: StudyTables) -> pandas.DataFrame:
    """Return how many times an update of its opponent one of an arm takes: arm, other, rounds, ratio, low, high.

    The ratio is the median over rounds, with its 95 % interval from order statistics.
    """
    records = []
    for arm, other in opponents(tables).items():
        rounds = ratios(tables, arm, other)
        if len(rounds):
            value, low, high = find_median(rounds.to_numpy())
            records.append(
                {"arm": arm, "other": other, "rounds": len(rounds), "ratio": value, "low": low, "high": high}
            )
    return pandas.DataFrame(records)


def gini(scores: ndarray) -> float:
    """Return the Gini coefficient of (n,) scores: sum over i, j of |x_i - x_j| / (2 n² mean(x)).

    From 0 (all heads equal) to (n - 1) / n (one head has all importance). Computed from the scores in rising order,
    x_(1) ... x_(n): sum over i of (2 i - n - 1) x_(i) / (n sum(x)), which is the same. Negative scores count as 0; NaN
    without any score above 0.
    """
    values = numpy.sort(numpy.maximum(scores, 0.0))  # (n,)
    count, total = len(values), values.sum()
    if not total > 0:
        return float("nan")
    places = numpy.arange(1, count + 1)
    return float(((2 * places - count - 1) * (values / total)).sum() / count)


def compute_shares(curve: pandas.DataFrame) -> tuple[ndarray, ndarray]:
    """Return the shares of heads removed and of the score kept along one curve, (points,) each.

    The share is NaN if the full score is not `MEASURABLE` above chance.
    """
    points = curve.sort_values("heads_removed")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy(dtype=float)
    value, full, chance = (points[name].to_numpy(dtype=float) for name in ("value", "full", "chance"))
    kept = compute_share_kept(value, full, chance[0])
    return removed, numpy.where((full - chance >= MEASURABLE).all(), kept, numpy.nan)


def curve_area(curve: pandas.DataFrame) -> float:
    """Return the area under one curve; see `core.curves.area`."""
    return float(area(*compute_shares(curve)))


def removable_share(curve: pandas.DataFrame) -> float:
    """Return the share of heads that can be removed along one curve without a noticeable loss; see `core.curves`."""
    removed, kept = compute_shares(curve)
    margin = TASKS[kind_of_metric(str(curve["metric"].iloc[0]))].margin
    return float(removable(removed, kept[None], margin)[0])
