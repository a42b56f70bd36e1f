"""Whether repulsion between heads makes models better, by which method, where, and by which part of its update.

An et al. (2020). All rules judge all runs of a task at once, paired by seed.
"""

from dataclasses import replace

from headroom.claims.arms import SPOS, SVGD, ArmDescription
from headroom.claims.evidence import judged
from headroom.claims.paired import (
    Pair,
    common_seeds,
    compared,
    difference_of,
    of_main_pair,
    repulsive_pairs,
    scores_by_seed,
)
from headroom.claims.selection import main_metric, main_set
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, above
from headroom.core.statistics import Estimate

LIKENESS = "z_cka"
"""The measure that decides: outputs are what heads give to the model, and every head has them in a basis of its own."""

GROWTH = "growth"
"""The control that pushes every head from the origin as far as repulsion does, and sees no other head."""

NO_GAIN = "a gain of repulsion: it has none here"
"""What claims about the gain of repulsion need where there is none."""

CONTROLS = ("smoothing", "scaled", "noise", GROWTH)
"""Methods that change gradients as svgd does, except for repulsion."""


@of_main_pair
def improves(tables: StudyTables, pair: Pair) -> Reading | None:
    """Decide whether repulsion improves the model."""
    gain = gain_of(tables, pair)
    if gain is None:
        return None
    others = [gain_of(tables, other) for other in repulsive_pairs(tables) if other != pair and other.arm.is_everywhere]
    return Reading(above(gain.found, 0.0), (gain, *(other for other in others if other)))


def gain_of(tables: StudyTables, pair: Pair) -> Number | None:
    """Return what an arm gains in score over its baseline."""
    found = difference_of(tables, pair.arm.name, pair.reference.name)
    return None if found is None else less(tables, pair.arm.name, pair.reference.name, found)


def less(tables: StudyTables, arm: str, other: str, found: Estimate) -> Number:
    """Return a difference in score of two arms as a number of claims."""
    rows = judged(tables.evaluation)
    about = {"arm": arm, "other": other, "metric": main_metric(rows), "set": main_set(rows)}
    return Number("difference", found, signed=True, about=about)


def noise_is_as_good(tables: StudyTables, *, as_good: float) -> list[Reading]:
    """Decide whether SPOS is at least as good as the SVGD of the same model and sites.

    Of several arms of SPOS the one with the most noise decides: with next to none, it is SVGD.
    """
    found = []
    for spos in sorted((arm for arm in tables.described_arms if arm.method == SPOS), key=_noise, reverse=True):
        svgd = _twin(tables, spos, SVGD)
        difference = difference_of(tables, spos.name, svgd.name) if svgd else None
        if svgd and difference:
            margin = as_good * abs(float(scores_by_seed(tables)[svgd.name].mean()))
            seeds = common_seeds(tables, [spos.name, svgd.name])
            number = less(tables, spos.name, svgd.name, difference)
            found.append(Reading(above(difference, -margin), (number,), seeds=seeds))
    return [replace(found[0], numbers=tuple(one.numbers[0] for one in found))] if found else []


def _noise(arm: ArmDescription) -> float:
    """Return the temperature of an arm of SPOS."""
    return float(dict(arm.others).get("beta", 0))


def _twin(tables: StudyTables, arm: ArmDescription, method: str) -> ArmDescription | None:
    """Return the arm of another method at the same sites of the same model."""
    where = arm.shape, set(arm.sites)
    alike = (other for other in tables.described_arms if (other.shape, set(other.sites)) == where)
    return next((other for other in alike if other.method == method), None)


def first_layers_suffice(tables: StudyTables, *, most: float) -> list[Reading]:
    """Decide whether it is enough that heads of the first layers repel each other: it keeps `most` of the gain."""
    pairs = repulsive_pairs(tables)
    for whole in (pair for pair in pairs if pair.arm.is_everywhere):
        for first in (pair.arm for pair in pairs if pair.arm.is_first and pair.reference == whole.reference):
            gain = difference_of(tables, whole.arm.name, whole.reference.name)
            found = difference_of(tables, first.name, whole.arm.name)
            if gain and found and first.method == whole.arm.method:
                kept = less(tables, first.name, whole.arm.name, found)
                gained = less(tables, whole.arm.name, whole.reference.name, gain)
                seeds = common_seeds(tables, [first.name, whole.arm.name, whole.reference.name])
                if above(gain, 0.0) != HOLDS:
                    return [Reading(UNDECIDED, (gained, kept), needs=NO_GAIN, seeds=seeds)]
                return [Reading(above(found, -(1 - most) * gain.value), (kept, gained), seeds=seeds)]
    return []


@of_main_pair
def gain_is_of_repulsion(tables: StudyTables, pair: Pair, *, most: float) -> Reading | None:
    """Decide whether a gain comes from repulsion, or from the other effects of svgd: smoothing, scaling, noise.

    A control that has more than the share `most` of the gain without repulsion is as good.
    """
    gain = gain_of(tables, pair)
    if gain is None:
        return None
    found = {arm.name: difference_of(tables, pair.arm.name, arm.name) for arm in controls_of(tables, pair)}
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    over = tuple(less(tables, pair.arm.name, name, one) for name, one in known.items())
    likeness = _likeness(tables, pair, [pair.arm.name, *known])
    if above(gain.found, 0.0) != HOLDS:
        return Reading(UNDECIDED, (gain, *over, *likeness), needs=NO_GAIN)
    return Reading(_against_controls(tables, pair, gain.found, known, most), (*over, gain, *likeness))


def controls_of(tables: StudyTables, pair: Pair) -> list[ArmDescription]:
    """Return the controls without repulsion at the sites of a repulsive arm, in the same model."""
    alike = [arm for arm in tables.described_arms if arm.shape == pair.arm.shape and arm.sites == pair.arm.sites]
    return [arm for arm in alike if arm.method in CONTROLS]


def _against_controls(tables: StudyTables, pair: Pair, gain: Estimate, found: dict[str, Estimate], most: float) -> str:
    """Apply the rule; that one of several controls is as good is judged by intervals corrected for their number."""
    wide = (difference_of(tables, pair.arm.name, name, comparisons=len(found)) for name in found)
    if any(one is not None and one.high < (1 - most) * gain.value for one in wide):
        return FAILS
    methods = {arm.method for arm in controls_of(tables, pair) if arm.name in found}
    beaten = all(above(one, 0.0) == HOLDS for one in found.values())
    return HOLDS if beaten and {GROWTH, "smoothing"} <= methods else UNDECIDED


def _likeness(tables: StudyTables, pair: Pair, arms: list[str]) -> list[Number]:
    """Return how much the arms change the likeness of head outputs."""
    reference = pair.reference.name
    changes = {arm: compared(tables, f"diversity_difference_{LIKENESS}", arm, reference) for arm in arms}
    return [
        Number("likeness", one, signed=True, about={"arm": arm, "other": reference})
        for arm, one in changes.items()
        if one is not None
    ]
