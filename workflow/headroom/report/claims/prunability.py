"""R8: whether repulsion changes what can be pruned, and how evenly importance is spread."""

from typing import NamedTuple

from headroom.claims.study_tables import StudyTables
from headroom.report.claims.paired import Pair, compared, main_pair
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading

AREA_MARGIN = 0.02
"""A change of the area under the pruning curve by less than this share of the full score does not matter."""

SHARE_MARGIN = 0.05
"""A change of the removable share by less than this share of all heads does not matter."""

LESS, MORE, SAME, OPEN = "less prunable", "more prunable", "not noticeably changed", "undecided"


class Prunability(NamedTuple):
    """What repulsion does to pruning: the effect in a word, and the numbers behind it."""

    effect: str
    area: Estimate
    share: Estimate | None
    gini: Estimate | None


def prunability(tables: StudyTables, pair: Pair) -> Prunability | None:
    """Return how the repulsive arm of a pair differs in pruning from its baseline; None if no curve was compared."""
    area, share, gini = (
        compared(tables, f"{name}_difference", pair.arm.name, pair.reference.name)
        for name in ("curve_area", "removable_share", "importance_gini")
    )
    return None if area is None else Prunability(effect_of(area, share), area, share, gini)


def effect_of(area: Estimate, share: Estimate | None) -> str:
    """Return what two differences say: of the area under the curve, and of the removable share if that is defined."""
    found = [(area, AREA_MARGIN)] + ([(share, SHARE_MARGIN)] if share is not None else [])
    if all(-margin < one.low and one.high < margin for one, margin in found):
        return SAME
    down, up = any(one.high < 0 for one, _ in found), any(one.low > 0 for one, _ in found)
    return OPEN if down == up else LESS if down else MORE


def described(found: Prunability) -> tuple[Measured, ...]:
    """Return the numbers in words, the area first."""
    words = f"{found.effect}: area under the pruning curve {{}} of the full score"
    measured = [Measured(words, found.area, "share", signed=True)]
    if found.share is not None:
        measured.append(Measured("removable share {} of all heads", found.share, "share", signed=True))
    if found.gini is not None:
        measured.append(Measured("Gini coefficient of importance {}", found.gini, signed=True))
    return tuple(measured)


def _read(tables: StudyTables) -> list[Reading]:
    pair = main_pair(tables)
    found = prunability(tables, pair) if pair else None
    if found is None:
        return []
    verdict = {LESS: HOLDS, MORE: FAILS, SAME: FAILS, OPEN: UNDECIDED}[found.effect]
    return [Reading(verdict, described(found))]


CLAIMS = (
    Claim(
        id="R8",
        claim="Repulsion makes models less prunable: their heads share the work more evenly.",
        paper={
            "translation": "not in the paper: a claim of ours",
            "classification": "not in the paper: a claim of ours",
        },
        rule="Pruning curves of the last epoch over all heads, every model by its own raw gradient scores. Two numbers:"
        " the area under the curve (its mean height as a share of the model’s own full score), and the removable share"
        " (the largest share of heads that can go with every step up to it at 99 % of the full score or more); of"
        " classifiers, the score above chance, which is what the model scores without any head. Each is the repulsive"
        " arm’s (svgd, else spos, at all sites) less that of the baseline with as many heads and the same dropout,"
        " paired by seed, with a 95 % t-interval over seeds. Changes within ±2 % of the score and within ±5 %"
        " of all heads do not matter. Does not hold if both intervals are within these bounds (nothing changes that"
        " matters), or if one is above 0 and none below (more prunable). Holds if one is below 0 and none above (less"
        " prunable). Else undecided, as it is with one seed. The Gini coefficient of importance (lower is more even) is"
        " told and does not decide.",
        section="repulsion",
        read=_read,
        together=True,
    ),
)
