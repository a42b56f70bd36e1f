"""Corrections for many comparisons."""

from collections.abc import Sequence

import numpy
from scipy.stats import false_discovery_control


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
    return [float(value) for value in false_discovery_control(p_values, method="bh")] if len(p_values) else []
