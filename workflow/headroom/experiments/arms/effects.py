"""What repulsion changes other than the score: diversity of heads, what can be pruned, time.

An et al. (2020). All rules judge all runs of a task at once.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas

from headroom.claims.verdict import Number, Reading, Unit, below
from headroom.core.statistics import Estimate, find_median
from headroom.experiments.arms.claims import GROWTH, LIKENESS, compare_likeness, likeness_less, list_controls
from headroom.experiments.arms.numbers import curve_area, of_curves, ratios, removable_share, unevenness
from headroom.experiments.arms.paired import (
    Pair,
    chosen_alphas,
    contrast,
    detectable,
    main_pair,
    of_main_pair,
    opponents,
    over_seeds,
    repulsive_pairs,
    scores_by_seed,
    select_late,
    trained_alphas,
)
from headroom.study.arms import ArmDescription
from headroom.study.selection import arm_rows, rows_where
from headroom.study.tables import StudyTables


@of_main_pair
def more_diverse(tables: StudyTables, pair: Pair, *, margin: float) -> Reading | None:
    """Decide whether repulsion makes the heads of a model more diverse."""
    fall = likeness_less(tables, pair.arm, pair.reference)
    if fall is None:
        return None
    asked = below(0.0, refuted=-margin * compare_likeness_of(tables, pair.reference.name))
    return Reading((replace(fall, asked=asked), *detectable(tables, pair, fall), *_beside(tables, pair)))


def _beside(tables: StudyTables, pair: Pair) -> Iterator[Number]:
    """Yield what does not decide: other alphas and numbers of heads, growth, other measures, the change by training."""
    alphas = [(arm, pair.reference) for arm in trained_alphas(tables, pair.arm) if arm != pair.arm]
    grown = [(pair.arm, arm) for arm in list_controls(tables, pair) if arm.method == GROWTH]
    for arm, other in (*alphas, *_other_heads(tables, pair), *grown):
        found = likeness_less(tables, arm, other)
        if found:
            yield found
    for measure in ("z_cosine", "particle_cosine"):
        cosine = compare_likeness(tables, measure, pair.arm, pair.reference)
        if cosine:
            yield Number(measure, cosine, signed=True)
    change = change_over_epochs(tables, pair.reference.name)
    if change:
        yield Number("over_epochs", change, signed=True, about={"other": pair.reference.name})


def _other_heads(tables: StudyTables, pair: Pair) -> list[tuple[ArmDescription, ArmDescription]]:
    """Return the pairs of the same method, sites and dropout with other numbers of heads."""

    def alike(arm: ArmDescription) -> object:
        return arm.method, arm.sites, arm.attention_dropout

    others = [one for one in repulsive_pairs(tables) if alike(one.arm) == alike(pair.arm)]
    return [(one.arm, one.reference) for one in others if one.arm.heads != pair.arm.heads]


def compare_likeness_of(tables: StudyTables, arm: str) -> float:
    """Return how alike the heads of an arm are in the last epochs, the mean over seeds, these and sites."""
    rows = select_late(rows_where(arm_rows(tables.diversity, arm), measure=LIKENESS))
    return float(rows.groupby("run")["value"].mean().mean())


def change_over_epochs(tables: StudyTables, arm: str) -> Estimate | None:
    """Return how the likeness of heads, averaged over sites, changes from an arm's first epoch to its last."""
    rows = rows_where(arm_rows(tables.diversity, arm), measure=LIKENESS)
    changes = [_change(run) for _, run in rows.groupby("run")]
    return over_seeds(changes) if changes else None


def _change(run: pandas.DataFrame) -> float:
    means = run.groupby("epoch")["value"].mean().sort_index()
    return float(means.iloc[-1] - means.iloc[0])


@of_main_pair
def less_prunable(tables: StudyTables, pair: Pair, *, area_margin: float) -> Reading | None:
    """Decide whether repulsion makes models less prunable."""
    found = prunability(tables, pair)
    if "area" not in found:
        return None
    about = {"arm": pair.arm.name, "other": pair.reference.name}
    area = Number("area", found.pop("area"), "share", signed=True, about=about)
    others = (Number(name, one, _UNITS[name], signed=True) for name, one in found.items())
    asked = replace(area, asked=below(0.0, refuted=-area_margin))
    return Reading((asked, *detectable(tables, pair, area), *others))


_UNITS: dict[str, Unit] = {"removable": "share", "gini": "number"}


def prunability(tables: StudyTables, pair: Pair) -> dict[str, Estimate]:
    """Return how the repulsive arm of a pair differs from its baseline, paired by seed, of what was measured.

    `area` is that of the area under the pruning curve, `removable` of the share of heads that can go, `gini` of the
    Gini coefficient of importance.
    """
    quantities = {"area": of_curves(tables, curve_area), "removable": of_curves(tables, removable_share)}
    quantities |= {"gini": unevenness(tables)}
    return {name: one for name, values in quantities.items() if (one := contrast(values, *pair.names))}


@of_main_pair
def costs_nothing(tables: StudyTables, pair: Pair, *, negligible: float) -> Reading | None:
    """Decide whether repulsion costs next to nothing in training time."""
    found = ratios(tables, pair.arm.name, pair.reference.name)
    if found.empty:
        return None
    about = {"arm": pair.arm.name, "other": pair.reference.name}
    return Reading((Number("ratio", find_median(found.to_numpy()), about=about, asked=below(negligible)),))


def update_time(tables: StudyTables) -> Iterator[Reading]:
    """Yield what repulsion adds to the time of an update."""
    pair = main_pair(tables)
    times = ratios(tables, pair.arm.name, pair.reference.name) if pair else None
    if times is not None and len(times):
        more = Estimate(find_median(times.to_numpy()).value - 1)
        yield Reading((Number("update_time", more, "share", signed=True),))


def arm_gains(tables: StudyTables) -> Iterator[Reading]:
    """Yield what every arm scores more than the one it is compared with, and every alpha that was chosen, by arm."""
    scores = scores_by_seed(tables)
    for arm, other in opponents(tables).items():
        found = contrast(scores, arm, other)
        if found:
            yield Reading((Number("arm_gain", found, signed=True),), part=arm)
    for one in chosen_alphas(tables):
        yield Reading((Number("chosen_alpha", Estimate(one.alpha)),), part=one.pair.arm.name)
