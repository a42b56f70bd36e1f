"""R7: whether a gain comes from repulsion, or from what svgd does besides: smoothing, scaling, noise."""

from headroom.claims.arms import ArmDescription
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.diversity import LIKENESS, LIKENESS_WORDS
from headroom.report.claims.paired import Pair, compared, difference_of, main_pair
from headroom.report.claims.repulsion import gain_of, less
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading, above

CONTROLS = ("smoothing", "scaled", "noise")
"""Methods that do to gradients what svgd does, but for repulsion."""

MOST = 0.5
"""A control that has more than this share of the gain without repulsion is as good."""


def controls_of(tables: StudyTables, pair: Pair) -> list[ArmDescription]:
    """Return the controls without repulsion at the sites of a repulsive arm, in the same model."""
    alike = [arm for arm in tables.described_arms if arm.shape == pair.arm.shape and arm.sites == pair.arm.sites]
    return [arm for arm in alike if arm.method in CONTROLS]


def _read(tables: StudyTables) -> list[Reading]:
    pair = main_pair(tables)
    gain = gain_of(tables, pair) if pair else None
    if pair is None or gain is None:
        return []
    controls = controls_of(tables, pair)
    found = {arm.name: difference_of(tables, pair.arm.name, arm.name) for arm in controls}
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return []
    over = tuple(less(tables, pair.arm.name, name, one) for name, one in known.items())
    likeness = _likeness(tables, pair, [pair.arm.name, *known])
    if above(gain.found, 0.0) != HOLDS:
        return [Reading(UNDECIDED, (gain, *over, *likeness))]
    return [Reading(_verdict(tables, pair, gain.found, known), (*over, gain, *likeness))]


def _verdict(tables: StudyTables, pair: Pair, gain: Estimate, found: dict[str, Estimate]) -> str:
    """Apply the rule; that one of several controls is as good is judged by intervals corrected for their number."""
    wide = (difference_of(tables, pair.arm.name, name, comparisons=len(found)) for name in found)
    if any(one is not None and one.high < (1 - MOST) * gain.value for one in wide):
        return FAILS
    return HOLDS if all(above(one, 0.0) == HOLDS for one in found.values()) else UNDECIDED


def _likeness(tables: StudyTables, pair: Pair, arms: list[str]) -> list[Measured]:
    """Return how much the arms change the likeness of head outputs."""
    statistic = f"diversity_difference_{LIKENESS}"
    changes = {arm: compared(tables, statistic, arm, pair.reference.name) for arm in arms}
    words = f"{LIKENESS_WORDS}, {{arm}} less {pair.reference.name}: {{{{}}}}"
    return [Measured(words.format(arm=arm), one, signed=True) for arm, one in changes.items() if one is not None]


CLAIMS = (
    Claim(
        id="R7",
        claim="What repulsive attention gains comes from repulsion, not from the rest of its update.",
        paper={
            "translation": "not in the paper: a claim of ours",
            "classification": "not in the paper: a claim of ours",
        },
        rule="Controls are those of the arms smoothing (svgd without repulsion), scaled (the gradient alone, as long)"
        " and noise (svgd’s length, a random direction) that were trained, at least one, at the same sites of the same"
        " model. Scores of the last epoch on `test`, differences paired by seed, 95 % t-intervals over seeds. There has"
        " to be a gain: if the interval of the repulsive arm less its baseline is not above 0, the claim is undecided."
        " With a gain it does not hold if some control has more than half of it: if the interval of the repulsive arm"
        " less that control, corrected for the number of controls (Bonferroni), lies below half of the gain. Else it"
        " holds if the intervals of the repulsive arm less each control are all above 0, and is undecided if not. The"
        " likeness of head outputs is told and does not decide.",
        section="repulsion",
        read=_read,
        together=True,
    ),
)
