"""Numbers in words: a value with its interval, as boards and pages write it."""

import math
from dataclasses import dataclass

from headroom.claims.entries import Claim, filled
from headroom.claims.metrics import metric_points
from headroom.claims.verdict import Number, Unit
from headroom.core.formatting import MOST_DECIMALS, count, estimate, number
from headroom.core.statistics import Estimate


@dataclass(frozen=True)
class Measured:
    """A number with its interval, and the words around it.

    Attributes:
        words: A text with `{}` in place of the number, e.g. `{} of the heads unchanged`.
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


def in_words(claim: Claim, one: Number, task: str) -> Measured:
    """Return a number of a claim in the words of the claim's entry."""
    return Measured(words_for(claim, one, task), one.found, one.unit, one.signed)


def words_for(claim: Claim, one: Number, task: str) -> str:
    """Return the words for a number of a claim, `{}` in place of the number."""
    about = dict(one.about)
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return filled(claim.words_of(one.name, task), claim.thresholds_of(task) | about | points)
