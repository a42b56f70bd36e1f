"""How unequally importance is spread over the heads of a model: the fewer heads carry it, the more can be removed."""

import numpy
from numpy import ndarray


def gini(scores: ndarray) -> float:
    """Return the Gini coefficient of importance scores: sum over i, j of |x_i - x_j| / (2 n² mean(x)).

    From 0 (all heads alike) to (n - 1) / n (one head has everything), so always below 1. Computed from the
    scores in rising order, x_(1) ... x_(n): sum over i of (2 i - n - 1) x_(i) / (n sum(x)), which is the same.

    Args:
        scores: (n,) scores of heads; negative ones count as 0.

    Returns:
        The coefficient; NaN without any score above 0.
    """
    values = numpy.sort(_shares(scores))  # (n,), sum 1
    count = len(values)
    places = numpy.arange(1, count + 1)
    return float(((2 * places - count - 1) * values).sum() / count) if count else float("nan")


def entropy(scores: ndarray) -> float:
    """Return the entropy of importance as a share of the largest: -sum p_i log p_i / log n, with p = x / sum(x).

    From 0 (one head has everything) to 1 (all heads alike); also called the evenness (Pielou 1966).

    Args:
        scores: (n,) scores of heads; negative ones count as 0.

    Returns:
        The share; NaN without any score above 0, and for fewer than two heads.
    """
    shares = _shares(scores)
    if len(shares) < 2 or numpy.isnan(shares).any():
        return float("nan")
    present = shares[shares > 0]  # p log p goes to 0 with p
    # the sum first: one head with everything has p log p = 0, whose negative would be written -0
    return float((present * numpy.log(1 / present)).sum() / numpy.log(len(shares)))


def _shares(scores: ndarray) -> ndarray:
    """Return what part of all importance each head has, (n,); NaN without any."""
    positive = numpy.maximum(scores, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else numpy.full(len(positive), numpy.nan)
