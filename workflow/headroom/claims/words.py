"""Numbers in words: metrics, and a value with its interval, as boards and pages write it."""

import math
from dataclasses import dataclass

from headroom.claims.entries import Claim, fill_in
from headroom.claims.verdict import Number, Unit
from headroom.core.formatting import MOST_DECIMALS, count, estimate, number
from headroom.core.statistics import Estimate

METRIC_NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact": "exact sentences (%)",
    "accuracy": "accuracy (%)",
    "f1": "F1 (%)",
    "matthews": "Matthews correlation (× 100)",
    "loss": "loss (nats)",
}
"""Names with units. BLEU is sacrebleu's, on detokenised text or, of IWSLT, on lower-cased tokens."""

_WORDS = {"exact": "exact sentences", "accuracy": "accuracy", "f1": "F1", "matthews": "Matthews correlation"}

_POINTS = {
    "exact": "% of exact sentences",
    "accuracy": "points of accuracy",
    "f1": "points of F1",
    "matthews": "points of Matthews correlation (× 100)",
}


def metric_name(metric: str) -> str:
    """Return the name of a metric with its unit, for axes and headings."""
    return METRIC_NAMES.get(metric, metric)


def metric_word(metric: str) -> str:
    """Return the name of a metric in a sentence: `BLEU`, `accuracy`."""
    return _WORDS.get(metric, metric_name(metric))


def metric_points(metric: str) -> str:
    """Return what follows a difference: `BLEU`, `points of accuracy`."""
    return _POINTS.get(metric, metric_name(metric))


@dataclass(frozen=True)
class Measured:
    """A number with its interval, and the words around it."""

    words: str  # A text with `{}` in place of the number, e.g. `{} of the heads unchanged`
    found: Estimate  # the number
    unit: Unit = "number"  # how it is written: `share` in per cent, `count` as a whole number where it is one
    signed: bool = False  # write plus signs

    def __str__(self) -> str:
        return self.words.replace("{}", self.text(), 1)

    def text(self) -> str:
        """Return the number with its interval."""
        if math.isnan(self.found.low) or self.found.low == self.found.high:
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
    about = {**one.about, **one.chosen}
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return fill_in(claim.words_of(one.name, task), claim.thresholds_of(task) | about | points)
