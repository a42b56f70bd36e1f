"""Numbers by arm: means over seeds, and differences from ordinary training of the same model, paired by seed."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas

from headroom.core.statistics import Estimate, estimate_mean, find_median
from headroom.experiments.arms.effects import ratios
from headroom.experiments.arms.paired import opponents
from headroom.experiments.arms.quantities import gini
from headroom.experiments.arms.tables import main_scores
from headroom.study.selection import last_arm_curves, main_criterion
from headroom.study.tables import StudyTables, arm_of, seed_of

BySeed = Mapping[str, "pandas.Series[Any]"]
"""By arm a number per run, indexed by seed."""

TWO_SEEDS, SAME_SEED = "two seeds of the arm", "with the baseline, same seed"
"""What two runs are whose important heads are compared."""


def compare_by_arm(tables: StudyTables, values: BySeed) -> pandas.DataFrame:
    """Return a row per arm: its mean, and by how much it exceeds that of its opponent, paired by seed.

    Columns are arm, seeds, value, low, high, other, delta, delta_low, delta_high; the last four are empty or NaN for
    arms that nothing can be compared with. Intervals are 95 % t-intervals over seeds, NaN for a single one.
    """
    against = opponents(tables)
    records = []
    for arm in (arm for arm in tables.arm_names if arm in values):
        own, other = values[arm].dropna(), against.get(arm, "")
        paired = (own - values[other]).dropna() if other in values else own.iloc[:0]
        mean = estimate_mean(own.to_numpy(dtype=float)) if len(own) else Estimate(math.nan)
        less = estimate_mean(paired.to_numpy(dtype=float)) if len(paired) else Estimate(math.nan)
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
    rows = main_scores(tables.scores, main_criterion(tables.scores))
    return _of_runs(rows, lambda run: gini(run["value"].to_numpy(dtype=float)))


def over_epochs(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the mean value of every run and epoch over sites: run, arm, epoch, value."""
    means = rows.groupby(["run", "epoch"], sort=False)["value"].mean().reset_index()
    return means.assign(arm=means["run"].map(arm_of))


def overlaps(tables: StudyTables) -> pandas.DataFrame:
    """Return the share of important heads that two runs have in common: share, arm, pairs, value, number, chance.

    A row is a pair of runs (`single` is true) or the mean over all `number` pairs of an arm; pairs share runs, so the
    mean has no interval. Compared are the seeds of an arm, and an arm with the task's baseline at the same seed.
    """
    rows, against = tables.overlap, opponents(tables)
    reference = next((arm for arm in tables.arm_names if arm not in against), "")
    named = ("arm", "other_arm", "share", "value", "chance")
    found = [
        {"share": share, "arm": arm, "pairs": pairs, "value": value, "number": 1, "chance": chance, "single": True}
        for first, second, share, value, chance in zip(*(rows[name] for name in named), strict=True)
        for arm, pairs in _pair(str(first), str(second), reference)
    ]
    frame = pandas.DataFrame(found)
    if frame.empty:
        return frame
    groups = frame.groupby(["share", "arm", "pairs", "chance"], sort=False)["value"]
    means = groups.agg(value="mean", number="size").reset_index().assign(single=False)
    return pandas.concat([frame, means], ignore_index=True)


def _pair(arm: str, other: str, reference: str) -> Iterator[tuple[str, str]]:
    if arm == other:
        yield arm, TWO_SEEDS
    elif reference in (arm, other):
        yield other if arm == reference else arm, SAME_SEED


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
