"""Numbers, the conditions that they are held against, and the verdicts that follow: of one run, and of several."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy
from numpy import ndarray

from headroom.core.formatting import MOST_DECIMALS, count, estimate, number
from headroom.core.statistics import Estimate, estimate_mean, interval, over_runs

Unit = Literal["number", "share", "count"]
Side = Literal["above", "below"]
Ends = Literal["interval", "bounds", "counted"]

HOLDS = "holds"
FAILS = "does not hold"
HOLDS_HERE = "holds in this model"
FAILS_HERE = "does not hold in this model"
UNDECIDED = "undecided at this scale"
NOT_COMPARABLE = "not comparable here"
NOT_RUN = "not run"

VERDICTS = (HOLDS, FAILS, HOLDS_HERE, FAILS_HERE, UNDECIDED, NOT_COMPARABLE, NOT_RUN)
"""The last word of those that rest on one training, or on a released model, is for that model alone."""

LEVEL = 0.05
"""Corrected p-values (Holm) below this are marked as significant in figures and tables."""


class Condition(NamedTuple):
    """What a rule asks of a number: that its interval lies on one side of a threshold."""

    threshold: float
    side: Side = "above"
    # an interval wholly beyond this end, seen from the other side, refutes; the threshold itself if NaN. An end on the
    # side that is asked for refutes effects that are real and too small to matter; an infinite one refutes nothing
    refuted: float = math.nan

    @property
    def end(self) -> float:
        """The end that refutes."""
        return self.threshold if math.isnan(self.refuted) else self.refuted

    def verdict(self, found: Estimate) -> str:
        """Return what an interval says: it holds, it does not hold, or it is undecided, as without an interval."""
        if self.side == "above":
            low, high, threshold, end = found.low, found.high, self.threshold, self.end
        else:
            low, high, threshold, end = -found.high, -found.low, -self.threshold, -self.end
        return FAILS if high < end else HOLDS if low > threshold else UNDECIDED


def above(threshold: float, refuted: float = math.nan) -> Condition:
    """Return the condition that a number is above a threshold."""
    return Condition(threshold, "above", refuted)


def below(threshold: float, refuted: float = math.nan) -> Condition:
    """Return the condition that a number is below a threshold."""
    return Condition(threshold, "below", refuted)


NO_LIMITS = (-math.inf, math.inf)


@dataclass(frozen=True)
class Number:
    """A number that a rule found."""

    name: str  # its name: the key of its words in the claim's entry
    found: Estimate  # the number with its interval: for other sentences; of several runs for other trainings, too
    unit: Unit = "number"  # `share` (of 1, written in per cent), `count` (a whole number where it is one) or `number`
    signed: bool = False  # whether it is written with plus signs
    # what else its words name, e.g. the arm, the metric or the epoch
    about: Mapping[str, str | float] = field(default_factory=dict)
    # what its words name that was chosen on other runs, e.g. a criterion: it may differ between the runs of a mean
    chosen: Mapping[str, str] = field(default_factory=dict)
    asked: Condition | None = None  # what the claim's rule asks of it; None if it does not decide
    limits: tuple[float, float] = NO_LIMITS  # the least and the largest possible value: intervals end there
    # the number on every resample of the examples, (samples,), which all runs share; None without
    resampled: ndarray | None = field(default=None, compare=False, repr=False)
    # what its ends are: an `interval` of 95 %; `bounds`, between which it lies however little the data say, e.g. how
    # many heads surely and possibly count; or `counted`, without error
    ends: Ends = "interval"
    these: Estimate | None = None  # of several runs: the mean with an interval for these trainings, on other sentences

    @property
    def verdict(self) -> str:
        """What its interval says; `undecided` if nothing is asked of it."""
        return UNDECIDED if self.asked is None else self.asked.verdict(self.found)

    def text(self) -> str:
        """Return the number with its interval, as it is written."""
        if math.isnan(self.found.low) or self.found.low == self.found.high:
            return self.bare()
        scaled, digits = self._scaled()
        ends = {number(end, digits, decimals=self._most) for end in scaled}
        if self.ends == "counted" and len(ends) == 1:
            return self.bare()
        return estimate(*scaled, signed=self.signed, digits=digits, most=self._most) + self._suffix

    def bare(self) -> str:
        """Return the number alone, as it is written."""
        scaled, digits = self._scaled()
        if self.unit == "count" and scaled.value == round(scaled.value):
            return count(scaled.value)
        return number(scaled.value, digits, signed=self.signed, decimals=self._most) + self._suffix

    def _scaled(self) -> tuple[Estimate, int]:
        """Return the number in its unit and the significant digits that it deserves."""
        scaled = self.found.times(100) if self.unit == "share" else self.found
        largest = max((abs(end) for end in scaled if not math.isnan(end)), default=0.0)
        return scaled, 2 if self.unit == "share" or largest < 1 else 3

    @property
    def _most(self) -> int:
        return 1 if self.unit == "share" else MOST_DECIMALS

    @property
    def _suffix(self) -> str:
        return " %" if self.unit == "share" else ""


def exactly(value: float) -> Estimate:
    """Return a number without error, e.g. a count: its interval has no width."""
    return Estimate(value, value, value)


NOTHING = Number("", Estimate(math.nan))
"""In the place of a number where there is none."""


@dataclass(frozen=True)
class Reading:
    """The reading of a claim in one run, or in all of them at once."""

    numbers: tuple[Number, ...]  # the numbers behind it, the main one first
    run: str = ""  # the run; "" if the rule judges all runs at once
    part: str = ""  # what of the run is judged apart, e.g. a far set; "" for the whole
    examples: int = 0  # how many examples the numbers rest on; 0 if not on examples
    runs: tuple[str, ...] = ()  # the runs that it rests on, if the rule judges all at once
    needs: str = ""  # what would decide it where that is not more seeds or sentences
    barrier: str = ""  # the precondition that is not met, and what was found instead; "" if all are

    @property
    def asked(self) -> tuple[Number, ...]:
        """The numbers that decide."""
        return tuple(one for one in self.numbers if one.asked is not None)

    @property
    def verdict(self) -> str:
        """The verdict: it holds if all that is asked does, and does not hold if one part does not."""
        if self.barrier:
            return NOT_COMPARABLE
        found = [one.verdict for one in self.asked]
        if FAILS in found:
            return FAILS
        return HOLDS if found and set(found) == {HOLDS} else UNDECIDED

    @property
    def deciding(self) -> Number:
        """The number whose interval gives the verdict: the first that does; where nothing is asked, the main one."""
        same = (one for one in self.asked if self.barrier or one.verdict == self.verdict)
        return next(same, self.numbers[0] if self.numbers else NOTHING)


OF_ONE_MODEL = {HOLDS: HOLDS_HERE, FAILS: FAILS_HERE}
"""What a verdict is called that rests on one training, or on a released model: it says nothing of other trainings."""

JUDGED = (HOLDS, FAILS, HOLDS_HERE, FAILS_HERE, UNDECIDED)
"""Verdicts of claims that were run and can be judged."""


Rule = Callable[..., list[Reading]]
"""What decides a claim: from the tables of one task, and the claim's thresholds by name, to readings."""


def pool(readings: Sequence[Reading]) -> Reading | None:
    """Return the reading of all runs together, of one part of a claim; None without readings.

    Its numbers are means (`together`). Runs that lack a precondition are
    left out; where half of them or more do, no run is comparable. So are runs left out whose numbers are others than
    those of the first run that has what is asked.
    """
    if not readings:
        return None
    comparable = [one for one in readings if not one.barrier]
    if 2 * len(comparable) <= len(readings):
        barrier = next((one.barrier for one in readings if one.barrier), "")
        comparable = [replace(one, barrier=one.barrier or barrier) for one in readings]
    first = next((one for one in comparable if one.asked), comparable[0])
    alike = [one for one in comparable if _named(one) == _named(first)]
    if len(alike) == 1:
        return replace(first, run="", runs=first.runs or (first.run,))
    found = [_by_place(one.numbers) for one in alike]
    numbers = tuple(together([one[key] for one in found]) for key in found[0] if all(key in one for one in found))
    runs = tuple(run for one in alike for run in one.runs or (one.run,))
    examples = max(one.examples for one in alike)
    needs = next((one.needs for one in alike if one.needs), "")
    return Reading(numbers, "", first.part, examples, runs, needs, first.barrier)


def _named(reading: Reading) -> list[object]:
    """Return what must be the same in readings that are put together: what is asked, or the main number."""
    return [(one.name, one.about) for one in reading.asked or reading.numbers[:1]]


def _by_place(numbers: Sequence[Number]) -> dict[tuple[str, int], Number]:
    """Return numbers by their names and their places among those of the same name."""
    names = [one.name for one in numbers]
    return {(one.name, names[:place].count(one.name)): one for place, one in enumerate(numbers)}


def together(same: Sequence[Number]) -> Number:
    """Return the mean of a number over runs, with an interval for other trainings, and one for these.

    A number with resamples has an interval for other trainings on other sentences (`over_runs`), one without the
    t-interval over runs widened by the mean of their own intervals. Bounds stay bounds (`mean_of_bounds`). What is
    counted without error has the smallest and the largest of the runs as its ends.
    """
    first, own = same[0], [one.found for one in same]
    chosen = {key: " or ".join(dict.fromkeys(one.chosen[key] for one in same)) for key in first.chosen}
    conditions = [one.asked for one in same if one.asked is not None]
    asked = _mean_condition(conditions) if conditions else None
    these = _mean_of_ends(own)
    drawn = [one.resampled for one in same if one.resampled is not None]
    if first.ends == "counted":
        found, these = range_of(own), None
    elif len(drawn) == len(same) and len({len(one) for one in drawn}) == 1:
        found = over_runs([one.value for one in own], drawn)
        these = Estimate(found.value, *interval(numpy.mean(drawn, axis=0)))
    else:
        found = mean_of_bounds(own) if first.ends == "bounds" else mean_over_runs(own)
    return replace(first, found=within(found, first.limits), chosen=chosen, asked=asked, these=these, resampled=None)


def within(found: Estimate, limits: tuple[float, float]) -> Estimate:
    """Return a number whose interval ends where the number does: a share at 0 and 1, a correlation at -1 and 1."""
    low, high = (min(max(end, limits[0]), limits[1]) for end in (found.low, found.high))
    return Estimate(found.value, low, high)


def mean_of_bounds(found: Sequence[Estimate]) -> Estimate:
    """Return the mean of a number that is only known to lie between bounds, with ends for other trainings.

    Bounds say what the data leave possible, not how far an estimate is off: they do not shrink where several are
    averaged, and are not joined as errors are. The mean of these trainings lies between the mean of the lower and that
    of the upper bounds (Horowitz and Manski 2000), that of other trainings at most half the t-interval of the values
    farther out.
    """
    if len(found) == 1:
        return found[0]
    values, lows, highs = zip(*found)
    over = estimate_mean(values)
    half = over.high - over.value
    return Estimate(over.value, float(numpy.mean(lows)) - half, float(numpy.mean(highs)) + half)


def range_of(found: Sequence[Estimate]) -> Estimate:
    """Return the mean of numbers that have no error, with the smallest and the largest as its ends."""
    values = [one.value for one in found]
    return Estimate(float(numpy.mean(values)), min(values), max(values))


def _mean_condition(conditions: Sequence[Condition]) -> Condition:
    """Return the mean condition of runs: thresholds may depend on a model, e.g. on its number of heads."""
    first = conditions[0]
    if all(one[:2] == first[:2] and one.end == first.end for one in conditions):
        return first
    threshold, end = (float(numpy.mean(ends)) for ends in zip(*((one.threshold, one.end) for one in conditions)))
    return Condition(threshold, first.side, end)


def mean_over_runs(found: Iterable[Estimate]) -> Estimate:
    """Return the mean over runs of a number that has no resamples, with an interval for other trainings.

    To either side it is as wide as the t-interval over runs and the mean distance of the runs' own ends, joined as
    errors are (the root of the sum of squares). Runs that have no interval leave the t-interval alone.
    """
    own = list(found)
    mean = estimate_mean([one.value for one in own])
    if len(own) == 1:
        return own[0]
    half = mean.high - mean.value
    down, up = (float(numpy.nanmean(ends)) if not numpy.isnan(ends).all() else 0.0 for ends in _distances(own))
    return Estimate(mean.value, mean.value - math.hypot(half, down), mean.value + math.hypot(half, up))


def _mean_of_ends(found: Sequence[Estimate]) -> Estimate | None:
    """Return the mean over runs with the means of their ends; None if they have none, or no width."""
    value, low, high = (float(numpy.mean(column)) for column in zip(*found))
    return Estimate(value, low, high) if low < high else None


def _distances(found: Sequence[Estimate]) -> tuple[ndarray, ndarray]:
    """Return how far the lower and the upper ends are from the values, (runs,) each."""
    values, lows, highs = (numpy.array(column, dtype=float) for column in zip(*found))
    return values - lows, highs - values
