"""R2, R3 and R4: whether repulsion between heads makes models better, by which method, and at which sites."""

from headroom.claims.arms import SPOS, SVGD, ArmDescription
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.paired import Pair, difference_of, main_pair, points_on, repulsive_pairs, scores_by_seed
from headroom.report.claims.verdict import HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading, above

AS_GOOD = 0.01
"""An arm is as good as another if it scores less by no more than this share of the other's score: less than half of
the gain that An et al. report (0.8 of 34.4 BLEU, from memory)."""

MOST = 0.5
"""The first layers suffice if they keep more than this share of the gain."""


def gain_of(tables: StudyTables, pair: Pair) -> Measured | None:
    """Return what an arm gains in score over its baseline."""
    found = difference_of(tables, pair.arm.name, pair.reference.name)
    return None if found is None else less(tables, pair.arm.name, pair.reference.name, found)


def less(tables: StudyTables, arm: str, other: str, found: Estimate) -> Measured:
    """Return a difference in score in words: `svgd less baseline: +0.80 [0.50, 1.10] BLEU on test`."""
    return Measured(f"{arm} less {other}: {{}} {points_on(tables)}", found, signed=True)


def _improves(tables: StudyTables) -> list[Reading]:
    pair = main_pair(tables)
    gain = gain_of(tables, pair) if pair else None
    if pair is None or gain is None:
        return []
    others = [gain_of(tables, other) for other in repulsive_pairs(tables) if other != pair and other.arm.is_everywhere]
    return [Reading(above(gain.found, 0.0), (gain, *(other for other in others if other)))]


def _noise(tables: StudyTables) -> list[Reading]:
    """Compare SPOS with the SVGD of the same shape and sites."""
    for spos in (arm for arm in tables.described_arms if arm.method == SPOS):
        svgd = _twin(tables, spos, SVGD)
        found = difference_of(tables, spos.name, svgd.name) if svgd else None
        if svgd and found:
            margin = AS_GOOD * abs(float(scores_by_seed(tables)[svgd.name].mean()))
            return [Reading(above(found, -margin), (less(tables, spos.name, svgd.name, found),))]
    return []


def _twin(tables: StudyTables, arm: ArmDescription, method: str) -> ArmDescription | None:
    """Return the arm of another method at the same sites of the same model."""
    where = arm.shape, set(arm.sites)
    alike = (other for other in tables.described_arms if (other.shape, set(other.sites)) == where)
    return next((other for other in alike if other.method == method), None)


def _first_layers(tables: StudyTables) -> list[Reading]:
    pairs = repulsive_pairs(tables)
    for whole in (pair for pair in pairs if pair.arm.is_everywhere):
        for first in (pair.arm for pair in pairs if pair.arm.is_first and pair.reference == whole.reference):
            gain = difference_of(tables, whole.arm.name, whole.reference.name)
            found = difference_of(tables, first.name, whole.arm.name)
            if gain and found and first.method == whole.arm.method:
                return [_first_reading(tables, whole, first, gain, found)]
    return []


def _first_reading(tables: StudyTables, whole: Pair, first: ArmDescription, gain: Estimate, found: Estimate) -> Reading:
    measured = (
        less(tables, first.name, whole.arm.name, found),
        less(tables, whole.arm.name, whole.reference.name, gain),
    )
    if above(gain, 0.0) != HOLDS:
        return Reading(UNDECIDED, (*measured[1:], *measured[:1]))
    return Reading(above(found, -(1 - MOST) * gain.value), measured)


_PAIRED = "Scores of the last epoch on `test`, differences paired by seed, 95 % t-intervals over seeds. "

_ONE_SEED = " With one seed there is no such interval, and the claim is undecided."

CLAIMS = (
    Claim(
        id="R2",
        claim="Repulsion between heads improves the model without further parameters.",
        paper={
            "translation": "about +0.8 BLEU (IWSLT14 De–En, 34.4 to 35.2) and +1.1 (WMT14 En–De, 27.3 to 28.4): both"
            " numbers from memory",
            "classification": "yes (sentence classification, GLUE); no number known here",
        },
        rule=_PAIRED + "The repulsive arm (svgd, else spos, at all sites) less the baseline with as many heads and the"
        " same dropout; it has as many parameters, since it changes updates alone. Holds if the interval is above 0,"
        " does not hold if it is below; else undecided." + _ONE_SEED,
        section="repulsion",
        read=_improves,
        together=True,
    ),
    Claim(
        id="R3",
        claim="SPOS, repulsion with noise, is at least as good as SVGD.",
        paper={
            "translation": "its noise keeps particles from collapsing; no number known here",
            "classification": "its noise keeps particles from collapsing; no number known here",
        },
        rule=_PAIRED + "The arm of method spos less the one of method svgd at the same sites of the same model. As good"
        " is a loss of at most 1 % of the score of svgd. Holds if the interval is above that loss, does not hold if it"
        " is below; else undecided." + _ONE_SEED,
        section="repulsion",
        read=_noise,
        together=True,
    ),
    Claim(
        id="R4",
        claim="It is enough that heads of the first layers repel each other.",
        paper={
            "translation": "the released code for ELECTRA repels in the first layer alone; no number known here",
            "classification": "the released code for ELECTRA repels in the first layer alone; no number known here",
        },
        rule=_PAIRED + "Two arms of the same repulsive method, one at all sites, one in layer 1 alone. There has to be"
        " a gain to keep: if the interval of the first less its baseline is not above 0, the claim is undecided."
        " With a gain, enough is more than half of it: holds if the interval of the difference between the two arms"
        " excludes a loss of half the gain, does not hold if it lies beyond such a loss; else undecided." + _ONE_SEED,
        section="repulsion",
        read=_first_layers,
        together=True,
    ),
)
