"""Every claim decided from the tables of a study, and what would decide an undecided one, at the variance seen."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from headroom.claims.entries import Claim, decide, papers_asked
from headroom.claims.verdict import NOT_RUN, OF_ONE_MODEL, UNDECIDED, VERDICTS, Condition, Number, Reading, pool
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
        """The verdict: what the interval over all runs says; of a single training, in this model."""
        if self.whole is None:
            return NOT_RUN
        return self.name_verdict(self.whole) if self.seeds <= 1 else self.whole.verdict

    def name_verdict(self, of_one: Reading) -> str:
        """Return the verdict on one training: in this model, unless other trainings cannot change the number."""
        varies = self.claim.repeats == "seeds" and of_one.deciding.ends != "counted"
        return OF_ONE_MODEL.get(of_one.verdict, of_one.verdict) if varies else of_one.verdict

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

FEWEST = 3
"""Trainings from which on their spread says how many more would decide."""

CLEAR = 0.97
"""What half of a recommended interval may be of the distance to a threshold: then half of such repetitions decide."""


def recommend(decision: Decision) -> str:
    """Return what would decide a claim, e.g. `about 3 more seeds`; "" of a decided one, and where that is not known.

    Of the variance of a mean over runs, the part between runs shrinks with more seeds, also by Student's quantile, and
    the part of the examples with more examples. Bounds of counts shrink with neither in a known way.
    """
    whole = decision.whole
    if whole is None or whole.verdict != UNDECIDED or decision.claim.repeats != "seeds":
        return ""
    if whole.needs:
        return whole.needs
    still = [one for one in whole.asked if one.verdict == UNDECIDED]
    if any(one.ends != "interval" for one in still):
        return ""
    example = TASKS[decision.kind].example
    if decision.seeds == 1:
        times = max((_examples_alone(one) for one in still), default=math.nan)
        return _in_words(0, times, whole.examples, example, " for a verdict on this model")
    if decision.seeds < FEWEST:
        return f"at least {FEWEST} seeds"
    wanted = [find_smallest(one.found, one.these, one.asked, decision.seeds) for one in still if one.asked]
    seeds, times = (max(column, default=math.nan) for column in zip(*wanted)) if wanted else (0.0, math.nan)
    return _in_words(seeds - decision.seeds, times, whole.examples, example)


def _in_words(seeds: float, times: float, examples: int, example: str, purpose: str = "") -> str:
    """Return how many more seeds, and how many times the examples, as a recommendation."""
    if math.isnan(times) or (times > 1 and not examples and not math.isinf(times)):
        return ""
    if math.isinf(times):
        units = f"{example}s" if purpose else f"seeds or {example}s"
        return f"no number of {units}: it is at the threshold"
    parts = [(seeds, "seed"), (examples * (times - 1), example)]
    wanted = [(_round_up(more), unit) for more, unit in parts if more > 0]
    named = " and ".join(f"{more} more {unit}{'' if more == '1' else 's'}" for more, unit in wanted)
    return f"about {named}{purpose}" if named else ""


def _examples_alone(number: Number) -> float:
    """Return how many times the examples decide a number of one training, whose interval shrinks with their root.

    The nearer of both ends counts; NaN without an interval, infinity beyond `MOST`.
    """
    if number.asked is None or math.isnan(number.found.low):
        return math.nan
    value = number.found.value
    times = [
        (side / distance) ** 2
        for distance, side in zip(_distances(value, number.asked), _sides(number))
        if distance > 0
    ]
    return min((one for one in times if one <= MOST), default=math.inf)


def _distances(value: float, asked: Condition) -> tuple[float, float]:
    """Return how far a value lies on the side that holds, and on the side that is refuted; below 0 if it does not."""
    sign = 1.0 if asked.side == "above" else -1.0
    return sign * (value - asked.threshold), sign * (asked.end - value)


def _sides(number: Number) -> tuple[float, float]:
    """Return how far the end of the interval lies that has to clear the threshold, and the one for a refutation."""
    value, low, high = number.found
    down, up = value - low, high - value
    return (down, up) if number.asked and number.asked.side == "above" else (up, down)


def find_smallest(found: Estimate, these: Estimate | None, asked: Condition, seeds: int) -> tuple[float, float]:
    """Return how many seeds, and how many times the examples, decide a mean over seeds, at the spread seen.

    Of all pairs it is the one with the smallest product; infinity where no pair of at most `MOST` times the data does.
    The nearer of both ends counts.

    Args:
        found: The mean with its interval for other trainings on other sentences.
        these: The mean with its interval for these trainings, which more examples narrow; None for none.
        asked: What it is held against.
        seeds: The number of seeds seen, at least two.
    """
    distance, half = CLEAR * max(_distances(found.value, asked)), (found.high - found.low) / 2
    fixed = 0.0 if these is None else min(half, (these.high - these.low) / 2)
    spread = math.sqrt(half**2 - fixed**2) / half_width(seeds)
    best, cost = (math.inf, math.inf), math.inf
    for number in range(seeds, int(MOST) + 1):
        left = distance**2 - (half_width(number) * spread) ** 2
        if distance <= 0 or number / seeds >= cost:
            break
        times = max(1.0, fixed**2 / left * (1 + 1e-9)) if left > 0 else math.inf
        if times * number / seeds < min(cost, MOST):
            best, cost = (float(number), times), times * number / seeds
    return best


def _round_up(amount: float) -> str:
    """Return a number with two significant digits, at least 1: 1,900 of 1,873."""
    amount = max(amount, 1.0)
    size = 10 ** max(0, math.floor(math.log10(amount)) - 1)
    return f"{math.ceil(amount / size - 1e-9) * size:,.0f}"
