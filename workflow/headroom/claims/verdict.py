"""Verdicts, estimates and numbers: the reading of a claim in one run, and the combination of several runs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy
from numpy import ndarray

from headroom.core.statistics import Estimate, over_runs

Unit = Literal["number", "share", "count"]

HOLDS = "holds"
FAILS = "does not hold"
UNDECIDED = "undecided at this scale"
NOT_RUN = "not run"


class Verdict(str):
    """A verdict that knows which intervals contained their threshold, from which follows what would decide it."""

    open: tuple[tuple[Estimate, float], ...]  # the estimates that are undecided, each with its threshold

    def __new__(cls, word: str, still_open: Iterable[tuple[Estimate, float]] = ()) -> "Verdict":
        """Take the word, one of the four, and what is undecided."""
        made = super().__new__(cls, word)
        made.open = tuple(still_open)
        return made


LEVEL = 0.05
"""Corrected p-values (Holm) below this are marked as significant in figures and tables."""


@dataclass(frozen=True)
class Number:
    """A number that a rule found."""

    name: str  # its name: the key of its words in the claim's entry
    found: Estimate  # the number with its interval
    unit: Unit = "number"  # `share` (of 1, written in per cent), `count` (a whole number where it is one) or `number`
    signed: bool = False  # whether it is written with plus signs
    # what else its words name, e.g. the arm, the metric or the epoch
    about: Mapping[str, str | float] = field(default_factory=dict)
    # what its words name that was chosen on other runs, e.g. a criterion: it may differ between the runs of a mean
    chosen: Mapping[str, str] = field(default_factory=dict)
    # the number on every resample of the examples, (samples,), which all runs share; None without
    resampled: ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reading:
    """The reading of a claim in one run."""

    verdict: str  # one of `HOLDS`, `FAILS`, `UNDECIDED`
    numbers: tuple[Number, ...]  # the numbers behind it, the main one first
    run: str = ""  # the run; "" if the rule judges all runs at once
    part: str = ""  # what of the run is judged apart, e.g. a far set; "" for the whole
    examples: int = 0  # how many examples the numbers rest on; 0 if not on examples
    seeds: int = 1  # how many seeds they rest on: several if the rule judges all runs at once
    needs: str = ""  # what would decide it where that is not more seeds or sentences


Rule = Callable[..., list[Reading]]
"""What decides a claim: from the tables of one task, and the claim's thresholds by name, to readings."""


def majority(verdicts: Sequence[str]) -> str:
    """Return the verdict of more than half of the runs, `not run` without runs.

    It is `undecided` without such a majority, and if runs contradict each other: then the seed decides, not the claim.
    """
    if not verdicts:
        return NOT_RUN
    if contradictory(verdicts):
        return UNDECIDED
    word, votes = Counter(verdicts).most_common(1)[0]
    return word if 2 * votes > len(verdicts) else UNDECIDED


def contradictory(verdicts: Collection[str]) -> bool:
    """Return whether a claim holds in one run and does not hold in another."""
    return {HOLDS, FAILS} <= {*verdicts}


def above(found: Estimate, threshold: float) -> Verdict:
    """Return whether an interval lies above a threshold; an interval that contains it is undecided."""
    return _compared(found, threshold, HOLDS, FAILS)


def below(found: Estimate, threshold: float) -> Verdict:
    """Return whether an interval lies below a threshold; an interval that contains it is undecided."""
    return _compared(found, threshold, FAILS, HOLDS)


def _compared(found: Estimate, threshold: float, over: str, under: str) -> Verdict:
    if found.low > threshold or found.high < threshold:
        return Verdict(over if found.low > threshold else under)
    return Verdict(UNDECIDED, [(found, threshold)])


def all_of(*verdicts: Verdict) -> Verdict:
    """Return `holds` if all parts hold, `does not hold` if one does not, else `undecided`."""
    if FAILS in verdicts:
        return Verdict(FAILS)
    if all(verdict == HOLDS for verdict in verdicts):
        return Verdict(HOLDS)
    return Verdict(UNDECIDED, [one for verdict in verdicts for one in verdict.open])


def mean_over_runs(found: Sequence[Estimate]) -> Estimate:
    """Return the mean over runs of a number that has no resamples, with the range that spans their intervals."""
    values, lows, highs = zip(*found)
    return Estimate(float(numpy.mean(values)), float(numpy.min(lows)), float(numpy.max(highs)))


def pooled(readings: Sequence[Reading]) -> tuple[Number, ...]:
    """Return the numbers of all runs as means.

    A number with resamples has an interval for other runs on other examples (`over_runs`), one without the range of the
    intervals of the runs. Runs whose main number is another than that of the first run are left out; what was chosen
    may differ, and is named for all of them.
    """
    if not readings:
        return ()
    main = readings[0].numbers[0]
    alike = [one for one in readings if one.numbers[0].name == main.name and one.numbers[0].about == main.about]
    together = zip(*(reading.numbers for reading in alike))
    return tuple(replace(same[0], found=_together(same), chosen=_all_chosen(same)) for same in together)


def _all_chosen(same: Sequence[Number]) -> dict[str, str]:
    return {key: " or ".join(dict.fromkeys(one.chosen[key] for one in same)) for key in same[0].chosen}


def _together(same: Sequence[Number]) -> Estimate:
    if len(same) == 1:
        return same[0].found
    drawn = [one.resampled for one in same]
    if len({None if own is None else len(own) for own in drawn}) > 1 or drawn[0] is None:
        return mean_over_runs([one.found for one in same])
    return over_runs([one.found.value for one in same], [own for own in drawn if own is not None])
