"""Every claim decided from the tables of a study, and what would decide an undecided one, at the variance seen."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from headroom.claims.entries import Claim, decide, papers_asked
from headroom.claims.verdict import NOT_RUN, UNDECIDED, VERDICTS, Reading, pool
from headroom.core.statistics import Estimate, half_width, outliers
from headroom.study.tables import StudyTables, seed_of
from headroom.study.task_info import TASKS, TaskKind


@dataclass(frozen=True)
class Decision:
    """The decision of a study on a claim, or on a part of it, in one task."""

    claim: Claim
    task: str  # the task; "" if the study has none that the claim is about
    readings: tuple[Reading, ...]  # the readings of the runs; none if no run has the required tables
    part: str = ""  # what is judged apart, e.g. a far set; "" for the whole claim
    kind: TaskKind = "translation"  # the kind of the task

    @cached_property
    def whole(self) -> Reading | None:
        """The reading of all runs together; None if it was not run."""
        return pool(self.readings)

    @property
    def verdict(self) -> str:
        """The verdict: what the interval over all runs says."""
        return NOT_RUN if self.whole is None else self.whole.verdict

    @property
    def seeds(self) -> int:
        """How many seeds it rests on."""
        return len({seed_of(run) for run in self.whole.runs}) if self.whole else 0

    @property
    def votes(self) -> str:
        """What the runs say one by one, e.g. `holds 2, undecided at this scale 1`, and which of them are outliers."""
        alone = [one for one in self.readings if one.run]
        if len(alone) < 2:
            return ""
        tally = Counter(one.verdict for one in alone)
        votes = ", ".join(f"{word} {tally[word]}" for word in VERDICTS if tally[word])
        far = outliers([one.deciding.found.value for one in alone])
        return votes + "".join(f"; outlier: seed {seed_of(alone[place].run)}" for place in far)


def evaluate(tables: StudyTables, claims: Iterable[Claim] | None = None) -> list[Decision]:
    """Return the decisions on claims, one per task that a claim is about and per part that is judged apart.

    By default these are the claims of `papers_asked`.
    """
    asked = [claim for paper in papers_asked(tables) for claim in paper.claims] if claims is None else claims
    return [decision for claim in asked for decision in _of_claim(claim, tables)]


def _of_claim(claim: Claim, tables: StudyTables) -> list[Decision]:
    asked = [view for view in tables.views.values() if claim.asked_of(view)]
    if not asked:
        return [Decision(claim, "", ())]
    return [decision for view in asked for decision in _by_part(claim, view, decide(claim, view))]


def _by_part(claim: Claim, view: StudyTables, readings: list[Reading]) -> list[Decision]:
    parts = dict.fromkeys(one.part for one in readings) or {"": None}
    own = {part: tuple(one for one in readings if one.part == part) for part in parts}
    return [Decision(claim, view.task, readings, part, view.kind) for part, readings in own.items()]


MOST = 1000.0
"""More than this many times the data is not a useful recommendation: the number is at its threshold."""

SEED, EXAMPLE = "seed", "example"
"""What more of may decide a claim."""


def recommend(decision: Decision) -> str:
    """Return what would decide a claim, e.g. `about 3 more seeds`; "" of a decided one, and where that is not known.

    Of the variance of a mean over runs, the part between runs shrinks with more seeds, also by Student's quantile, and
    the part of the examples with more examples. Seeds are recommended where they are enough.
    """
    whole = decision.whole
    if whole is None or whole.verdict != UNDECIDED or decision.claim.repeats != "seeds":
        return ""
    if whole.needs:
        return whole.needs
    still = [one for one in whole.asked if one.verdict == UNDECIDED]
    wanted = [
        _count_more(one.found, one.these, one.asked.threshold, whole, decision.seeds) for one in still if one.asked
    ]
    known = [one for one in wanted if one is not None]
    if not known:
        return ""
    unit, more = max(known, key=lambda one: (one[0] == EXAMPLE, one[1]))
    unit = TASKS[decision.kind].example if unit == EXAMPLE else unit
    if math.isinf(more):
        return f"no number of {unit}s: it is at the threshold"
    rounded = _round_up(more)
    return f"about {rounded} more {unit}{'' if rounded == '1' else 's'}"


def _count_more(
    found: Estimate, these: Estimate | None, threshold: float, whole: Reading, seeds: int
) -> tuple[str, float] | None:
    """Return how many more seeds, or examples, take the threshold out of an interval; None where that is not known."""
    if math.isnan(found.low):
        return SEED, 1.0  # one training has no interval over trainings
    several = len(whole.runs) > 1
    own = these if several and these is not None else found
    times = 1.0 if several and these is None else factor(own, threshold)
    if times > 1:  # also without other trainings the threshold is in the interval
        more = whole.examples * (times - 1)
        return (EXAMPLE, math.inf if times > MOST else more) if whole.examples else None
    return (SEED, seeds_for(found, these, threshold, seeds) - seeds) if several else None


def factor(found: Estimate, threshold: float) -> float:
    """Return how many times the examples take the threshold out of an interval, the value staying where it is.

    1 without an interval; infinity for a value at the threshold.
    """
    side = found.value - found.low if found.value > threshold else found.high - found.value
    distance = abs(found.value - threshold)
    if math.isnan(side):
        return 1.0
    return math.inf if distance == 0 else max(1.0, (side / distance) ** 2)


def seeds_for(found: Estimate, these: Estimate | None, threshold: float, seeds: int) -> float:
    """Return how many seeds take the threshold out of an interval over seeds, at their spread; infinity beyond `MOST`.

    Args:
        found: The mean with its interval for other trainings on other sentences.
        these: The mean with its interval for these trainings: what more seeds do not narrow; None for none.
        threshold: The threshold.
        seeds: The number of seeds seen.
    """
    distance, half = abs(found.value - threshold), (found.high - found.low) / 2
    if seeds < 2:
        return 2.0
    fixed = 0.0 if these is None else min(half, (these.high - these.low) / 2)
    spread = math.sqrt(half**2 - fixed**2) / half_width(seeds)
    for number in range(seeds, int(MOST) + 1):
        if math.hypot(half_width(number) * spread, fixed) < distance:
            return float(number)
    return math.inf


def _round_up(amount: float) -> str:
    """Return a number with two significant digits, at least 1: 1,900 of 1,873."""
    amount = max(amount, 1.0)
    size = 10 ** max(0, math.floor(math.log10(amount)) - 1)
    return f"{math.ceil(amount / size - 1e-9) * size:,.0f}"
