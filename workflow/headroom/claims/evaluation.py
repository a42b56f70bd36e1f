"""Every claim decided from the tables of a study, and what would decide an undecided one, at the variance seen."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from headroom.claims.entries import Claim, decide, papers_asked
from headroom.claims.study_tables import StudyTables, seed_of
from headroom.claims.verdict import UNDECIDED, Reading, Verdict, contradictory, majority
from headroom.core.statistics import Estimate, half_width


@dataclass(frozen=True)
class Decision:
    """The decision of a study on a claim in one task."""

    claim: Claim
    task: str  # the task; "" if the study has none that the claim is about
    readings: tuple[Reading, ...]  # the readings of the runs; none if no run has the required tables

    @property
    def verdict(self) -> str:
        """The verdict: that of more than half of the runs, unless one contradicts it."""
        return majority([reading.verdict for reading in self.readings])

    @property
    def seeds(self) -> int:
        """How many seeds it rests on: those of the runs judged alone, or those of the reading of all runs."""
        alone = {seed_of(reading.run) for reading in self.readings if reading.run}
        return len(alone) or max((reading.seeds for reading in self.readings), default=0)


def evaluate(tables: StudyTables, claims: Iterable[Claim] | None = None) -> list[Decision]:
    """Return the decisions on claims, one per task that a claim is about.

    By default these are the claims of `papers_asked`.
    """
    asked = [claim for paper in papers_asked(tables) for claim in paper.claims] if claims is None else claims
    return [decision for claim in asked for decision in _of_claim(claim, tables)]


def _of_claim(claim: Claim, tables: StudyTables) -> list[Decision]:
    asked = [tables.of_task(task) for task in tables.tasks if claim.asked_of(task)]
    if not asked:
        return [Decision(claim, "", ())]
    return [Decision(claim, view.task, tuple(decide(claim, view))) for view in asked]


MOST = 1000.0
"""More than this many times the data is not a useful recommendation: the number is at its threshold."""


def needed(decision: Decision) -> str:
    """Return what would decide a claim, e.g. `about 3 more seeds`; "" of a decided one, and where that is not known."""
    if contradictory([reading.verdict for reading in decision.readings]):
        return "more seeds: runs contradict each other"
    if needs := [reading.needs for reading in decision.readings if reading.needs]:
        return needs[0]
    size = wanted(decision)
    if size is None:
        return ""
    unit, present = ("seed", decision.seeds) if decision.claim.together else ("sentence", _examples(decision))
    if math.isinf(size):
        return f"no number of {unit}s: it is at the threshold"
    more = _rounded(size - present)
    return f"about {more} more {unit}{'' if more == '1' else 's'}"


def wanted(decision: Decision) -> float | None:
    """Return how many seeds, or sentences, would decide an undecided claim; None where that is not known.

    The widths of intervals shrink with the root of the number of sentences; over seeds they also lose Student's
    quantile. The result is the largest number that an undecided part of the rule requires; infinity above `MOST` seeds
    or `MOST` times the data.
    """
    if decision.verdict != UNDECIDED or decision.claim.repeats != "seeds":
        return None
    still = [one for reading in decision.readings if reading.verdict == UNDECIDED for one in _open(reading.verdict)]
    if decision.claim.together:
        return max((seeds_for(*one, decision.seeds) for one in still), default=None)
    examples, times = _examples(decision), max((factor(*one) for one in still), default=1.0)
    if not examples or times == 1:
        return None
    return math.inf if times > MOST else examples * times


def _examples(decision: Decision) -> int:
    return max((reading.examples for reading in decision.readings), default=0)


def _open(verdict: str) -> tuple[tuple[Estimate, float], ...]:
    return verdict.open if isinstance(verdict, Verdict) else ()


def factor(found: Estimate, threshold: float) -> float:
    """Return how many times the examples take the threshold out of an interval, the value staying where it is.

    1 without an interval; infinity for a value at the threshold.
    """
    side = found.value - found.low if found.value > threshold else found.high - found.value
    distance = abs(found.value - threshold)
    if math.isnan(side):
        return 1.0
    return math.inf if distance == 0 else max(1.0, (side / distance) ** 2)


def seeds_for(found: Estimate, threshold: float, seeds: int) -> float:
    """Return how many seeds take the threshold out of a t-interval over seeds, at their spread; infinity beyond all."""
    distance, half = abs(found.value - threshold), (found.high - found.low) / 2
    if math.isnan(half) or seeds < 2:
        return float(max(seeds, 1) + 1)  # one seed has no interval over seeds
    spread = half / half_width(seeds)
    for number in range(seeds, int(MOST) + 1):
        if half_width(number) * spread < distance:
            return float(number)
    return math.inf


def _rounded(amount: float) -> str:
    """Return a number with two significant digits, at least 1: 1,900 of 1,873."""
    amount = max(amount, 1.0)
    size = 10 ** max(0, math.floor(math.log10(amount)) - 1)
    return f"{math.ceil(amount / size - 1e-9) * size:,.0f}"
