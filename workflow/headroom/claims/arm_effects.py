"""What repulsion changes other than the score: diversity of heads, what can be pruned, time.

An et al. (2020). All rules judge all runs of a task at once.
"""

from typing import NamedTuple

import pandas

from headroom.claims.paired import Pair, compared, of_main_pair
from headroom.claims.repulsion import GROWTH, LIKENESS, controls_of
from headroom.claims.selection import arm_rows, last_epochs, rows_where
from headroom.claims.study_tables import StudyTables, seed_of
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, Verdict, all_of, below
from headroom.core.statistics import Estimate, mean_of, median_of

LESS, MORE, SAME, OPEN = "less prunable", "more prunable", "not noticeably changed", "undecided"


@of_main_pair
def more_diverse(tables: StudyTables, pair: Pair, *, margin: float) -> Reading | None:
    """Decide whether repulsion makes the heads of a model more diverse, by more than the arm growth does."""
    found = _less(tables, pair, LIKENESS)
    if found is None:
        return None
    little = margin * likeness_of(tables, pair.reference.name)
    about = {"arm": pair.arm.name, "other": pair.reference.name}
    numbers = [Number("likeness", found, signed=True, about=about)]
    verdicts = [_fall(found, little)]
    grown = next((arm for arm in controls_of(tables, pair) if arm.method == GROWTH), None)
    beside = likeness_between(tables, pair.arm.name, grown.name) if grown else None
    if grown and beside:
        numbers.append(Number("likeness", beside, signed=True, about=about | {"other": grown.name}))
        verdicts.append(_fall(beside, little))
    for measure in ("z_cosine", "particle_cosine"):
        other = _less(tables, pair, measure)
        numbers += [Number(measure, other, signed=True)] if other else []
    change = change_over_epochs(tables, pair.reference.name)
    if change:
        numbers.append(Number("over_epochs", change, signed=True, about={"other": pair.reference.name}))
    return Reading(all_of(*verdicts), tuple(numbers))


def _fall(found: Estimate, little: float) -> Verdict:
    """Return whether a number falls; a fall that is at most `little` and may be none does not count as one."""
    verdict = below(found, 0.0)
    return Verdict(FAILS) if verdict == UNDECIDED and found.low > -little else verdict


def likeness_of(tables: StudyTables, arm: str) -> float:
    """Return how alike the heads of an arm are at the last epoch, the mean over seeds of means over sites."""
    rows = last_epochs(rows_where(arm_rows(tables.diversity, arm), measure=LIKENESS))
    return float(rows.groupby("run")["value"].mean().mean())


def likeness_between(tables: StudyTables, arm: str, other: str) -> Estimate | None:
    """Return how much more alike heads of an arm are than of another, paired by seed; None without a common seed."""
    every = last_epochs(rows_where(tables.diversity, measure=LIKENESS))
    means = {name: arm_rows(every, name).groupby("run")["value"].mean().rename(index=seed_of) for name in (arm, other)}
    paired = (means[arm] - means[other]).dropna()
    return mean_of(paired.to_numpy()) if len(paired) else None


def _less(tables: StudyTables, pair: Pair, measure: str) -> Estimate | None:
    return compared(tables, f"diversity_difference_{measure}", pair.arm.name, pair.reference.name)


def change_over_epochs(tables: StudyTables, arm: str, measure: str = LIKENESS) -> Estimate | None:
    """Return how a measure, averaged over sites, changes from an arm's first epoch to its last, over seeds."""
    rows = rows_where(arm_rows(tables.diversity, arm), measure=measure)
    changes = [_change(run) for _, run in rows.groupby("run")]
    return mean_of(changes) if changes else None


def _change(run: pandas.DataFrame) -> float:
    means = run.groupby("epoch")["value"].mean().sort_index()
    return float(means.iloc[-1] - means.iloc[0])


class Prunability(NamedTuple):
    """What repulsion does to pruning: the effect in a word, and the numbers behind it."""

    effect: str
    area: Estimate
    share: Estimate | None
    gini: Estimate | None


@of_main_pair
def less_prunable(tables: StudyTables, pair: Pair, *, area_margin: float, share_margin: float) -> Reading | None:
    """Decide whether repulsion makes models less prunable."""
    found = prunability(tables, pair, area_margin=area_margin, share_margin=share_margin)
    if found is None:
        return None
    verdict = {LESS: HOLDS, MORE: FAILS, SAME: FAILS, OPEN: UNDECIDED}[found.effect]
    return Reading(verdict, numbers_of(found))


def prunability(tables: StudyTables, pair: Pair, *, area_margin: float, share_margin: float) -> Prunability | None:
    """Return how the repulsive arm of a pair differs in pruning from its baseline; None if no curve was compared."""
    area, share, gini = (
        compared(tables, f"{name}_difference", pair.arm.name, pair.reference.name)
        for name in ("curve_area", "removable_share", "importance_gini")
    )
    if area is None:
        return None
    return Prunability(effect_of(area, share, area_margin=area_margin, share_margin=share_margin), area, share, gini)


def effect_of(area: Estimate, share: Estimate | None, *, area_margin: float, share_margin: float) -> str:
    """Return what two differences say: of the area under the curve, and of the removable share if that is defined.

    Both are shares, of the full score and of the heads; a change by less than its margin does not matter.
    """
    found = [(area, area_margin)] + ([(share, share_margin)] if share is not None else [])
    if all(-margin < one.low and one.high < margin for one, margin in found):
        return SAME
    down, up = any(one.high < 0 for one, _ in found), any(one.low > 0 for one, _ in found)
    return OPEN if down == up else LESS if down else MORE


def numbers_of(found: Prunability) -> tuple[Number, ...]:
    """Return the numbers behind an effect, the area first."""
    numbers = [Number("area", found.area, "share", signed=True, about={"effect": found.effect})]
    if found.share is not None:
        numbers.append(Number("removable", found.share, "share", signed=True))
    if found.gini is not None:
        numbers.append(Number("gini", found.gini, signed=True))
    return tuple(numbers)


@of_main_pair
def costs_nothing(tables: StudyTables, pair: Pair, *, negligible: float) -> Reading | None:
    """Decide whether repulsion costs next to nothing in training time."""
    found = ratios(tables, pair.arm.name, pair.reference.name)
    if found.empty:
        return None
    median = median_of(found.to_numpy())
    about = {"arm": pair.arm.name, "other": pair.reference.name}
    return Reading(below(median, negligible), (Number("ratio", median, about=about),))


def ratios(tables: StudyTables, arm: str, reference: str) -> "pandas.Series[float]":
    """Return how many times a reference's update one of an arm takes, round by round."""
    seconds = tables.update_cost.pivot_table(index="repeat", columns="arm", values="seconds")
    if not {arm, reference} <= set(seconds.columns):
        return pandas.Series(dtype=float)
    return (seconds[arm] / seconds[reference]).dropna()
