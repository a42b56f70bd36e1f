"""R6: whether repulsion costs next to nothing."""

import numpy
import pandas
from scipy.stats import binom

from headroom.claims.study_tables import StudyTables
from headroom.report.claims.paired import main_pair
from headroom.report.claims.verdict import Claim, Estimate, Measured, Reading, below

NEGLIGIBLE = 1.05
"""An update that takes up to this many times the baseline's costs next to nothing more."""


def median_of(values: "pandas.Series[float]") -> Estimate:
    """Return the median with its 95 % interval from order statistics; without one for fewer than six values.

    The ends are the k-th smallest and the k-th largest value, with the largest k for which fewer than k of n
    values fall below the median with a chance of at most 2.5 % (binomial, exact).
    """
    ordered = numpy.sort(values.to_numpy(dtype=float))
    place = int(binom.ppf(0.025, len(ordered), 0.5)) if len(ordered) else 0
    if not place:
        return Estimate(float(numpy.median(ordered)) if len(ordered) else float("nan"))
    return Estimate(float(numpy.median(ordered)), float(ordered[place - 1]), float(ordered[-place]))


def ratios(tables: StudyTables, arm: str, reference: str) -> "pandas.Series[float]":
    """Return how many times a reference's update one of an arm takes, round by round."""
    seconds = tables.update_cost.pivot_table(index="repeat", columns="arm", values="seconds")
    if not {arm, reference} <= set(seconds.columns):
        return pandas.Series(dtype=float)
    return (seconds[arm] / seconds[reference]).dropna()


def _read(tables: StudyTables) -> list[Reading]:
    pair = main_pair(tables)
    if pair is None:
        return []
    found = ratios(tables, pair.arm.name, pair.reference.name)
    if found.empty:
        return []
    median = median_of(found)
    words = f"an update of {pair.arm.name} takes {{}} times as long as one of {pair.reference.name}"
    return [Reading(below(median, NEGLIGIBLE), (Measured(words, median),))]


CLAIMS = (
    Claim(
        id="R6",
        claim="Repulsion costs next to nothing in training time.",
        paper={"translation": "negligible (from memory); no number known here"},
        rule="Updates of all arms in turn on the same batches; the time of the repulsive arm’s over the baseline’s in"
        " the same round, the median over rounds with its 95 % interval from order statistics. Next to nothing is up to"
        " 1.05 times. Holds if the interval is below that, does not hold if it is above; else undecided, as it is with"
        " fewer than six rounds, which give no interval.",
        section="repulsion",
        read=_read,
        together=True,
    ),
)
