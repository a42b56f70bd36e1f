"""Numbers by arm: means over seeds, and differences from ordinary training of the same model, paired by seed."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import pandas

from headroom.core.statistics import Estimate, estimate_mean, find_median
from headroom.experiments.arms.paired import opponents, over_seeds
from headroom.experiments.arms.quantities import gini
from headroom.study.selection import last_arm_curves, last_epochs, main_criterion, parse_heads, rows_where
from headroom.study.tables import StudyTables, arm_of, seed_of

BySeed = Mapping[str, "pandas.Series[Any]"]
"""By arm a number per run, indexed by seed."""

TWO_SEEDS, SAME_SEED = "two seeds of the arm", "with the baseline, same seed"
"""What two runs are whose important heads are compared."""

SHARES = (0.25, 0.5)
"""Numbers of important heads, as shares of all heads."""


def compare_by_arm(tables: StudyTables, values: BySeed) -> pandas.DataFrame:
    """Return a row per arm: its mean, and by how much it exceeds that of its opponent, paired by seed.

    Columns are arm, seeds, value, low, high, other, delta, delta_low, delta_high; the last four are empty or NaN for
    arms that nothing can be compared with. Intervals are 95 % t-intervals over seeds, NaN for a single one, and of
    differences for fewer than three (`over_seeds`).
    """
    against = opponents(tables)
    records = []
    for arm in (arm for arm in tables.arm_names if arm in values):
        own, other = values[arm].dropna(), against.get(arm, "")
        paired = (own - values[other]).dropna() if other in values else own.iloc[:0]
        mean = estimate_mean(own.to_numpy(dtype=float)) if len(own) else Estimate(math.nan)
        less = over_seeds(paired.to_numpy(dtype=float)) if len(paired) else Estimate(math.nan)
        seeds = " ".join(str(seed) for seed in sorted(own.index))
        changed = {"other": other if len(paired) else "", "delta": less.value, "delta_low": less.low}
        records.append({"arm": arm, "seeds": seeds, **mean._asdict(), **changed, "delta_high": less.high})
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
    """Return a number of every run's last pruning curve, e.g. `methods.arm_quantities.curve_area`, times a factor."""
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
