"""Arms side by side: which of them make a pair, and how far apart they are, paired over seeds."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas
from numpy import ndarray

from headroom.claims.evidence import as_rule
from headroom.claims.verdict import Number, Reading, Rule
from headroom.core.statistics import POWER, Estimate, estimate_mean, find_detectable
from headroom.study.arms import BASELINE, REPULSIVE, ArmDescription
from headroom.study.selection import last_epochs, main_metric, rows_where, select_judged
from headroom.study.tables import StudyTables, arm_of, seed_of

BySeed = Mapping[str, "pandas.Series[Any]"]
"""By arm a number per run, indexed by seed."""


@dataclass(frozen=True)
class Pair:
    """An arm, and ordinary training of the same model, which it is compared with."""

    arm: ArmDescription
    reference: ArmDescription

    @property
    def names(self) -> tuple[str, str]:
        """The names of both."""
        return self.arm.name, self.reference.name


def main_pair(tables: StudyTables) -> Pair | None:
    """Return the repulsive arm that claims are about, and its baseline; None without one of the two.

    It is the first one that repels at all sites in a model that some baseline has, too; svgd comes before spos, and
    the model of the first baseline before others. Of arms that differ from it in nothing but alpha it is the one that
    was chosen on `check`.
    """
    first = min(repulsive_pairs(tables), key=lambda pair: prominence(tables, pair), default=None)
    return next((one.pair for one in chosen_alphas(tables) if first and first.arm in one.arms), first)


def prominence(tables: StudyTables, pair: Pair) -> tuple[bool, bool, int]:
    """Return the place of a pair among others: model of the first baseline, all sites, method."""
    first = next((arm for arm in tables.described_arms if arm.method == BASELINE), None)
    return pair.reference != first, not pair.arm.is_everywhere, REPULSIVE.index(pair.arm.method)


def of_main_pair(read: Callable[..., Reading | None]) -> Rule:
    """Make a rule that judges all runs of a task at once, paired by seed, of a function that reads the main pair.

    The reading rests on the runs of the pair unless the function names others.
    """

    def rule(tables: StudyTables, **thresholds: Any) -> list[Reading]:
        pair = main_pair(tables)
        reading = read(tables, pair, **thresholds) if pair else None
        if pair is None or reading is None:
            return []
        return [replace(reading, runs=reading.runs or common_runs(tables, [pair.arm.name, pair.reference.name]))]

    return as_rule(rule, read)


def detectable(tables: StudyTables, pair: Pair, difference: Number) -> tuple[Number, ...]:
    """Return the smallest difference that the seeds of a pair would have shown, for claims; none of one seed."""
    seeds = len(common_runs(tables, [pair.arm.name, pair.reference.name])) // 2
    if math.isnan(difference.found.low):
        return ()
    smallest = Estimate(find_detectable(difference.found, seeds))
    about = {**difference.about, "power": POWER}
    return (replace(difference, name="detectable", found=smallest, signed=False, about=about, asked=None),)


def repulsive_pairs(tables: StudyTables) -> list[Pair]:
    """Return every repulsive arm with the baseline of the same shape; those without one are left out."""
    repulsive = [arm for arm in tables.described_arms if arm.is_repulsive]
    found = [(arm, find_baseline(arm, tables.described_arms)) for arm in repulsive]
    return [Pair(arm, reference) for arm, reference in found if reference is not None]


def find_baseline(arm: ArmDescription, arms: Sequence[ArmDescription]) -> ArmDescription | None:
    """Return the first baseline with the heads and the dropout of an arm."""
    return next((other for other in arms if other.method == BASELINE and other.shape == arm.shape), None)


def opponents(tables: StudyTables) -> dict[str, str]:
    """Return what every arm is compared with: the baseline of its shape, for such a baseline the first one of all."""
    every = tables.described_arms
    found = {}
    for arm in every:
        first = next((other for other in every if other.method == BASELINE), every[0])
        own = find_baseline(arm, every) or first
        found[arm.name] = first.name if own == arm else own.name
    return {arm: other for arm, other in found.items() if other != arm}


def common_runs(tables: StudyTables, arms: Collection[str]) -> tuple[str, ...]:
    """Return the runs of some arms, of the seeds that all of these have."""
    runs = [run for run in tables.runs if arm_of(run) in arms]
    common = set.intersection(*({seed_of(run) for run in runs if arm_of(run) == arm} for arm in arms))
    return tuple(run for run in runs if seed_of(run) in common)


def scores_by_seed(tables: StudyTables) -> dict[str, "pandas.Series[Any]"]:
    """Return the main metric of every run on the set that runs are judged on, by arm, indexed by seed."""
    rows = select_judged(tables.evaluation)
    return {
        str(arm): pandas.Series(own["value"].to_numpy(dtype=float), index=own["run"].map(seed_of))
        for arm, own in rows.groupby(rows["run"].map(arm_of), sort=False)
    }


LEAST_SEEDS = 3
"""With fewer an interval over seeds is narrow or wide by luck: two differences may be alike by chance."""


def contrast(values: BySeed, arm: str, other: str, comparisons: int = 1) -> Estimate | None:
    """Return by how much an arm exceeds another, paired by seed, with its t-interval; None without a common seed."""
    if not {arm, other} <= set(values):
        return None
    paired = (values[arm] - values[other]).dropna().sort_index().to_numpy(dtype=float)
    return over_seeds(paired, comparisons) if len(paired) else None


def over_seeds(values: Sequence[float] | ndarray, comparisons: int = 1) -> Estimate:
    """Return the mean over seeds with its t-interval, which fewer than `LEAST_SEEDS` do not have."""
    found = estimate_mean(values, comparisons)
    return found if len(values) >= LEAST_SEEDS else Estimate(found.value)


LATE = 3
"""The likeness of heads is that of so many last epochs: a single one adds its own noise to the differences of arms."""


def select_late(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the last epochs, `LATE`, of every run."""
    return rows[rows["epoch"] > rows.groupby("run")["epoch"].transform("max") - LATE]


class ChosenAlpha(NamedTuple):
    """Of arms that differ in nothing but alpha, the one with the highest mean score on `check`, with its baseline."""

    arms: tuple[ArmDescription, ...]  # the arms that were compared
    alpha: float
    pair: Pair

    @property
    def values(self) -> int:
        """How many values of alpha were compared."""
        return len(self.arms)


def chosen_alphas(tables: StudyTables) -> list[ChosenAlpha]:
    """Return the choice of alpha for every kind of arms that were trained with several, of those with a baseline."""
    scores = scores_on_check(tables)
    alike: dict[object, list[ArmDescription]] = {}
    for arm in tables.described_arms:
        if arm.alpha and arm.name in scores:
            others = [one for one in arm.others if one[0] != "alpha"]
            alike.setdefault((arm.method, arm.sites, arm.shape, *others), []).append(arm)
    several = [tuple(arms) for arms in alike.values() if len(arms) > 1]
    best = [max(arms, key=lambda arm: scores[arm.name]) for arms in several]
    baselines = [find_baseline(arm, tables.described_arms) for arm in best]
    return [
        ChosenAlpha(arms, float(arm.alpha), Pair(arm, reference))
        for arms, arm, reference in zip(several, best, baselines)
        if reference is not None
    ]


def trained_alphas(tables: StudyTables, arm: ArmDescription) -> tuple[ArmDescription, ...]:
    """Return the arms that differ from one in nothing but alpha, and it; it alone if there is no other."""
    return next((one.arms for one in chosen_alphas(tables) if arm in one.arms), (arm,))


def find_untried(tables: StudyTables, arm: ArmDescription) -> str:
    """Return the alphas beyond an edge of the trained ones where an arm is at it; "" between others.

    Smaller ones come first: without repulsion nothing is lost.
    """
    others = [float(one.alpha) for one in trained_alphas(tables, arm) if one != arm]
    if not others or float(arm.alpha) < min(others):
        return "smaller alphas"
    return "larger alphas" if float(arm.alpha) > max(others) else ""


def scores_on_check(tables: StudyTables) -> dict[str, float]:
    """Return by arm the mean over seeds of the main metric on the set `check`, which arms are chosen by."""
    rows = rows_where(last_epochs(tables.evaluation), set="check", metric=main_metric(tables.evaluation))
    return {str(arm): float(value) for arm, value in rows.groupby(rows["run"].map(arm_of))["value"].mean().items()}
