"""Corrections for many tests, and exact tests of shares of right answers.

scipy.stats takes a second to import: functions that need it do so when they are called.
"""

from collections.abc import Sequence

import numpy
from numpy import ndarray


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm (1979), in the order given.

    The smallest of m is multiplied by m, the next by m - 1, ...; never below an earlier one, at most 1.
    A value below 0.05 keeps the chance of even one false alarm among all m below 5 %.
    """
    values = numpy.asarray(p_values, dtype=numpy.float64)
    rising = numpy.argsort(values, kind="stable")
    multiplied = values[rising] * numpy.arange(len(values), 0, -1)
    corrected = numpy.empty_like(values)
    corrected[rising] = numpy.minimum(1.0, numpy.maximum.accumulate(multiplied))
    return [float(value) for value in corrected]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Benjamini and Hochberg (1995), in the order given.

    Among all comparisons with a value below 0.05, at most 5 % are expected to be false alarms.
    """
    values = numpy.asarray(p_values, dtype=numpy.float64)  # scipy.stats has it too, and takes a second to import
    rising = numpy.argsort(values, kind="stable")
    multiplied = values[rising] * (len(values) / numpy.arange(1, len(values) + 1))
    corrected = numpy.empty_like(values)
    corrected[rising] = numpy.minimum(1.0, numpy.minimum.accumulate(multiplied[::-1])[::-1])
    return [float(value) for value in corrected]


METRICS = frozenset({"accuracy", "exact"})
"""Metrics that are a share of right answers: their statistics begin with 1 (right) or 0."""


def mcnemar_p(first: ndarray, second: ndarray) -> float:
    """Return the exact two-sided p of McNemar's test on (examples,) of 0 and 1, paired by example."""
    return mcnemar(only_first=int((first > second).sum()), only_second=int((second > first).sum()))


def mcnemar(*, only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test.

    Args:
        only_first: Number of items that only the first system has right.
        only_second: Number of items that only the second system has right.
    """
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def unpaired_p(first: ndarray, second: ndarray) -> float:
    """Return the two-sided p of Student's t-test that takes (examples,) of 0 and 1 for independent samples.

    Michel et al. 2019 report a t-test and do not say whether it is paired. Systems answer the same
    examples, and mostly alike: the unpaired test misses many differences that McNemar's sees.
    """
    from scipy.stats import ttest_ind

    if numpy.ptp(first) == 0 and numpy.ptp(second) == 0:  # no variance: t is not defined
        return 1.0 if first[0] == second[0] else 0.0
    return float(ttest_ind(first, second).pvalue)
