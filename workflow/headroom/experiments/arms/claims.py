"""Whether repulsion between heads makes models better, by which method, where, and by which part of its update.

An et al. (2020). All rules judge all runs of a task at once, paired by seed.
"""

import math
from dataclasses import replace

from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import Estimate
from headroom.experiments.arms.numbers import by_seed
from headroom.experiments.arms.paired import (
    Pair,
    common_runs,
    contrast,
    detectable,
    find_untried,
    of_main_pair,
    prominence,
    repulsive_pairs,
    scores_by_seed,
    scores_on_check,
    select_late,
)
from headroom.study.arms import SPOS, SVGD, ArmDescription
from headroom.study.selection import main_metric, main_set, rows_where, select_judged
from headroom.study.tables import StudyTables

LIKENESS = "z_cka"
"""The measure that decides: outputs are what heads give to the model, and every head has them in a basis of its own."""

SMOOTHING = "smoothing"
"""The control that is svgd without repulsion."""

GROWTH = "growth"
"""The control that pushes every head from the origin as far as repulsion does, and sees no other head."""

NO_GAIN = "a gain of repulsion above 0: no interval here is"
"""The precondition of claims about the gain of repulsion."""

CONTROLS = (SMOOTHING, "scaled", "noise", GROWTH)
"""Methods that change gradients as svgd does, except for repulsion."""


@of_main_pair
def improves(tables: StudyTables, pair: Pair) -> Reading | None:
    """Decide whether repulsion improves the model.

    A loss refutes only if larger and smaller alphas were trained: another one may improve it.
    """
    gain = measure_gain(tables, pair)
    if gain is None:
        return None
    needs = find_untried(tables, pair.arm) if gain.found.high < 0 else ""
    asked = above(0.0, refuted=-math.inf) if needs else above(0.0)
    others = [
        measure_gain(tables, other) for other in repulsive_pairs(tables) if other != pair and other.arm.is_everywhere
    ]
    beside = (*detectable(tables, pair, gain), *(other for other in others if other))
    return Reading((replace(gain, asked=asked), *beside), needs=needs)


def measure_gain(tables: StudyTables, pair: Pair) -> Number | None:
    """Return what an arm gains in score over its baseline."""
    return less(tables, pair.arm, pair.reference)


def less(tables: StudyTables, arm: ArmDescription, other: ArmDescription, comparisons: int = 1) -> Number | None:
    """Return the difference in score of two arms as a number of claims; None without a common seed."""
    found = contrast(scores_by_seed(tables), arm.name, other.name, comparisons)
    if found is None:
        return None
    rows = select_judged(tables.evaluation)
    about = {"arm": arm.name, "other": other.name, "metric": main_metric(rows), "set": main_set(rows)}
    return Number("difference", found, signed=True, about=about)


def lacks(gain: Number) -> bool:
    """Return whether there is no sure gain: its interval is not above 0. With one seed there is no interval."""
    return gain.found.low <= 0


def noise_is_as_good(tables: StudyTables, *, as_good: float) -> list[Reading]:
    """Decide whether SPOS is at least as good as the SVGD of the same model, sites and alpha.

    Of several arms of SPOS the one with the highest score on `check` decides.
    """
    check = scores_on_check(tables)
    pairs = [pair for pair in repulsive_pairs(tables) if pair.arm.method == SPOS]
    pairs.sort(key=lambda pair: (prominence(tables, pair), -check.get(pair.arm.name, -math.inf)))
    both = [(pair.arm, svgd) for pair in pairs if (svgd := _svgd_like(tables, pair.arm))]
    found = [one for spos, svgd in both if (one := less(tables, spos, svgd))]
    if not found:
        return []
    arm, other = (str(found[0].about[key]) for key in ("arm", "other"))
    margin = as_good * abs(float(scores_by_seed(tables)[other].mean()))
    numbers = (replace(found[0], asked=above(-margin)), *found[1:])
    return [Reading(numbers, runs=common_runs(tables, [arm, other]))]


def _svgd_like(tables: StudyTables, spos: ArmDescription) -> ArmDescription | None:
    """Return the arm of SVGD at the same sites of the same model, with the same alpha."""
    svgd = [arm for arm in tables.described_arms if arm.method == SVGD]

    def alike(arm: ArmDescription) -> object:
        return arm.shape, set(arm.sites), arm.alpha

    return next((arm for arm in svgd if alike(arm) == alike(spos)), None)


@of_main_pair
def first_layers_suffice(tables: StudyTables, pair: Pair, *, most: float) -> Reading | None:
    """Decide whether it is enough that heads of the first layers repel each other: it keeps `most` of the gain."""
    others = [one.arm for one in repulsive_pairs(tables) if one.arm.is_first and one.reference == pair.reference]
    alike = [arm for arm in others if arm.method == pair.arm.method]
    first = min(alike, key=lambda arm: arm.others != pair.arm.others, default=None)
    gain, kept = measure_gain(tables, pair), less(tables, first, pair.arm) if first else None
    if not gain or not pair.arm.is_everywhere:
        return None
    if lacks(gain):  # whether or not an arm of the first layers was trained
        return Reading((gain, kept) if kept else (gain,), barrier=NO_GAIN)
    if not first or not kept:
        return None
    runs = common_runs(tables, [first.name, pair.arm.name, pair.reference.name])
    if first.others != pair.arm.others:
        needs = f"an arm of the first layers with the settings of {pair.arm.name}"
        return Reading((kept, gain), runs=runs, needs=needs)
    return Reading((replace(kept, asked=above(-(1 - most) * gain.found.value)), gain), runs=runs)


@of_main_pair
def gain_is_of_repulsion(tables: StudyTables, pair: Pair, *, most: float) -> Reading | None:
    """Decide whether a gain comes from repulsion, or from the other effects of svgd: smoothing, scaling, noise.

    A control that has more than the share `most` of the gain without repulsion is as good.
    """
    gain = measure_gain(tables, pair)
    controls = [arm for arm in list_controls(tables, pair) if less(tables, pair.arm, arm)]
    over = [one for arm in controls if (one := less(tables, pair.arm, arm, comparisons=len(controls)))]
    if not gain or not (over or lacks(gain)):
        return None
    likeness = [one for arm in (pair.reference, *controls) if (one := likeness_less(tables, pair.arm, arm))]
    runs = common_runs(tables, [arm.name for arm in (pair.arm, pair.reference, *controls)])
    if lacks(gain):
        return Reading((gain, *over, *likeness), runs=runs, barrier=NO_GAIN)
    if missing := {GROWTH, SMOOTHING} - {arm.method for arm in controls}:
        needs = " and ".join(f"the control {method}" for method in sorted(missing))
        return Reading((gain, *over, *likeness), runs=runs, needs=needs)
    asked = above(0.0, refuted=(1 - most) * gain.found.value)
    return Reading((*(replace(one, asked=asked) for one in over), gain, *likeness), runs=runs)


def list_controls(tables: StudyTables, pair: Pair) -> list[ArmDescription]:
    """Return the controls without repulsion at the sites of a repulsive arm, in the same model.

    Those that take the length of its update have its alpha.
    """
    alike = [arm for arm in tables.described_arms if arm.shape == pair.arm.shape and arm.sites == pair.arm.sites]
    return [arm for arm in alike if arm.method in CONTROLS and (arm.method == SMOOTHING or arm.alpha == pair.arm.alpha)]


def likeness_less(tables: StudyTables, arm: ArmDescription, other: ArmDescription) -> Number | None:
    """Return how much more alike heads of an arm are than of another, as a number of claims."""
    found = compare_likeness(tables, LIKENESS, arm, other)
    return Number("likeness", found, signed=True, about={"arm": arm.name, "other": other.name}) if found else None


def compare_likeness(tables: StudyTables, measure: str, arm: ArmDescription, other: ArmDescription) -> Estimate | None:
    """Return the difference of two arms in a measure of likeness, paired by seed; None without a common seed.

    It is the mean over sites and the last epochs, `LATE`.
    """
    return contrast(by_seed(select_late(rows_where(tables.diversity, measure=measure))), arm.name, other.name)
