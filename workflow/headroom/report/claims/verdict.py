"""Verdicts: what a claim is, what one run says about it, and how several runs are put together."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy

from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import MOST_DECIMALS, count, estimate, number, plural

Unit = Literal["number", "share", "count"]

HOLDS = "holds"
FAILS = "does not hold"
UNDECIDED = "undecided at this scale"
NOT_RUN = "not run"

LEVEL = 0.05
"""Corrected p-values (Holm) below this count as significant."""

SEVERAL_RUNS = (
    " Every run of the baseline is judged alone; the verdict is that of more than half of the runs, and"
    " without such a majority undecided. Ours is the mean of the runs; its interval spans all of theirs."
)

ALL_RUNS = " All runs are judged together: there is one verdict per task."


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim of the paper, what this study found in one task, and the verdict with the rule that decided it."""

    id: str
    claim: str
    task: str
    paper: str
    ours: str
    verdict: str
    rule: str
    section: str


class Estimate(NamedTuple):
    """A number with the ends of its interval, NaN if it has none; shares are shares of 1."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def __neg__(self) -> "Estimate":
        return Estimate(-self.value, -self.high, -self.low)

    def times(self, factor: float) -> "Estimate":
        """Return the estimate in another unit; the factor is positive."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)


@dataclass(frozen=True)
class Measured:
    """A number with its interval, and the words around it.

    Attributes:
        words: A text with `{}` where the number goes, e.g. `{} of the heads unchanged`.
        found: The number.
        unit: How it is written: `share` in per cent, `count` as a whole number where it is one.
        signed: Write plus signs.
    """

    words: str
    found: Estimate
    unit: Unit = "number"
    signed: bool = False

    def __str__(self) -> str:
        return self.words.replace("{}", self.text(), 1)

    def text(self) -> str:
        """Return the number with its interval."""
        if math.isnan(self.found.low):
            return self.bare()
        scaled, digits = self._scaled()
        return estimate(*scaled, signed=self.signed, digits=digits, most=self._most) + self._suffix

    def bare(self) -> str:
        """Return the number alone."""
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


@dataclass(frozen=True)
class Reading:
    """What one run says about a claim: a verdict, and the numbers behind it, the main one first."""

    verdict: str
    measured: tuple[Measured, ...]


@dataclass(frozen=True)
class Claim:
    """A claim, its rule in words, and the function that applies the rule to every run of the baseline.

    Attributes:
        id: Its number in the paper's list.
        claim: The claim in words.
        paper: The paper's number, by kind of task; a task's own name has precedence. Kinds that are not
            named are not asked.
        rule: The rule in words.
        section: The section with the evidence.
        read: Returns what every run says, given the tables of one task.
        together: Whether `read` judges all runs at once, since the claim is about training or about several models.
    """

    id: str
    claim: str
    paper: Mapping[str, str]
    rule: str
    section: str
    read: Callable[[StudyTables], list[Reading]]
    together: bool = False

    def asked_of(self, task: str) -> bool:
        """Return whether the claim is about a task."""
        return task in self.paper or kind_of(task) in self.paper

    def evaluate(self, tables: StudyTables) -> ClaimVerdict:
        """Return the verdict on the task of these tables; `not run` if no run has the rows that it needs."""
        task = tables.task
        if not self.asked_of(task):
            return self._verdict("", "no task of this study is of that kind", NOT_RUN)
        readings = self.read(tables)
        verdict = majority([reading.verdict for reading in readings])
        return self._verdict(task, describe(readings) if readings else "the experiment was not run", verdict)

    def _verdict(self, task: str, ours: str, verdict: str) -> ClaimVerdict:
        kind = kind_of(task) if kind_of(task) in self.paper else next(iter(self.paper))
        paper = self.paper.get(task, self.paper[kind])
        rule = self.rule + (ALL_RUNS if self.together else SEVERAL_RUNS)
        return ClaimVerdict(self.id, self.claim, task, paper, ours, verdict, rule, self.section)


def majority(verdicts: Sequence[str]) -> str:
    """Return the verdict of more than half of the runs, `undecided` without one, `not run` without runs."""
    if not verdicts:
        return NOT_RUN
    word, votes = Counter(verdicts).most_common(1)[0]
    return word if 2 * votes > len(verdicts) else UNDECIDED


def above(found: Estimate, threshold: float) -> str:
    """Return whether an interval lies above a threshold; an interval that contains it is undecided."""
    return HOLDS if found.low > threshold else FAILS if found.high < threshold else UNDECIDED


def below(found: Estimate, threshold: float) -> str:
    """Return whether an interval lies below a threshold; an interval that contains it is undecided."""
    return HOLDS if found.high < threshold else FAILS if found.low > threshold else UNDECIDED


def all_of(*verdicts: str) -> str:
    """Return `holds` if all parts hold, `does not hold` if one does not, else `undecided`."""
    if FAILS in verdicts:
        return FAILS
    return HOLDS if all(verdict == HOLDS for verdict in verdicts) else UNDECIDED


def describe(readings: Sequence[Reading]) -> str:
    """Return the numbers of all runs as one text: means, with the spread and the verdicts of several runs."""
    alike = [one for one in readings if one.measured[0].words == readings[0].measured[0].words]
    means = [pooled(numbers) for numbers in zip(*(reading.measured for reading in alike))]
    text = "; ".join(str(measured) for measured in means)
    return text if len(readings) == 1 else f"{text} ({_spread(readings)})"


def pooled(numbers: Sequence[Measured]) -> Measured:
    """Return the mean of one number over runs, with the interval that spans all of theirs."""
    values, lows, highs = zip(*(measured.found for measured in numbers))
    mean = Estimate(float(numpy.mean(values)), float(numpy.min(lows)), float(numpy.max(highs)))
    return replace(numbers[0], found=mean)


def mean_share(found: Sequence[Estimate], unit: Unit = "share") -> Measured:
    """Return the mean of one number over runs, with the interval that spans all of theirs, without words."""
    return pooled([Measured("{}", one, unit) for one in found])


def _spread(readings: Sequence[Reading]) -> str:
    main = [reading.measured[0] for reading in readings]
    ordered = sorted(main, key=lambda one: one.found.value)
    tally = Counter(reading.verdict for reading in readings)
    votes = ", ".join(f"{word}: {tally[word]}" for word in (HOLDS, FAILS, UNDECIDED) if tally[word])
    return f"{plural(len(readings), 'run')}, from {ordered[0].bare()} to {ordered[-1].bare()}; {votes}"
