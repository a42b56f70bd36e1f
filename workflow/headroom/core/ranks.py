"""Agreement between two rankings of the same heads, with bootstrap intervals over heads.

A resample of the heads is a row of counts, as in `headroom.core.statistics`; ranks and concordances of all
resamples are then matrix products instead of loops.
"""

from functools import cache

import numpy
from numpy import ndarray

from headroom.core.statistics import Estimate, draw_resamples, resampling_weights

RESAMPLES = 1000
"""Bootstrap samples of heads."""

FEWEST_HEADS = 4
"""Minimum number of heads for a correlation."""


def reliability(first: ndarray, second: ndarray) -> float:
    """Return the reliability of a ranking on the whole set, 0 to 1, from scores on its halves, (heads,) each.

    The rank correlation of two halves is that of half a set (Spearman-Brown).
    """
    half = correlation("spearman", first, second).value
    return max(0.0, 2 * half / (1 + half)) if half > -1 else 0.0


def correlation(statistic: str, first: ndarray, second: ndarray) -> Estimate:
    """Return the correlation of two score lists of the same heads.

    Args:
        statistic: `pearson`, `spearman` (average ranks for ties) or `kendall` (tau-b).
        first: (heads,) scores.
        second: (heads,) scores of the same heads.

    Returns:
        The correlation with its interval over heads; NaN if a list is constant or too short.
    """
    if len(first) < FEWEST_HEADS:
        return Estimate(numpy.nan)
    compute = {"pearson": _pearson, "spearman": _spearman, "kendall": _kendall}[statistic]
    return _with_interval(compute(*_floats(first, second), _weights(len(first))))


def overlap(first: ndarray, second: ndarray, k: int) -> Estimate:
    """Return the share of the k highest by `first` that are also among the k highest by `second`.

    Ties are broken by position. The share expected by chance is `chance_overlap`.
    In a resample of heads a head drawn twice counts twice.
    """
    weights = _weights(len(first))
    tops = [_copies_on_top(scores, k, weights) for scores in _floats(first, second)]
    return _with_interval(numpy.minimum(*tops).sum(axis=1) / k)


def chance_overlap(heads: int, k: int) -> float:
    """Return the expected share of common heads in two unrelated top-k lists of `heads` heads: k / heads."""
    return k / heads


def without_highest(scores: ndarray, dropped: int) -> ndarray:
    """Return the indices, in order, of all scores except the `dropped` highest (the first of ties)."""
    return numpy.sort(_descending(scores)[dropped:])


@cache
def _weights(heads: int) -> ndarray:
    """Return (1 + RESAMPLES, heads): the original heads, then the resamples."""
    resampled = resampling_weights(draw_resamples(heads, RESAMPLES))
    return numpy.vstack([numpy.ones(heads), resampled])


def _with_interval(values: ndarray) -> Estimate:
    """Split (1 + RESAMPLES,) into the value and the interval over the defined resamples."""
    defined = values[1:][numpy.isfinite(values[1:])]
    if not numpy.isfinite(values[0]) or not len(defined):
        return Estimate(numpy.nan)
    low, high = numpy.quantile(defined, [0.025, 0.975])
    return Estimate(float(values[0]), float(low), float(high))


def _pearson(first: ndarray, second: ndarray, weights: ndarray) -> ndarray:
    """Return (resamples,) correlations; `first`, `second` are (heads,) or (resamples, heads)."""
    total = weights.sum(axis=1, keepdims=True)
    a = first - (weights * first).sum(axis=1, keepdims=True) / total
    b = second - (weights * second).sum(axis=1, keepdims=True) / total
    spread = numpy.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
    constant = _constant(first, weights) | _constant(second, weights)
    together = (weights * a * b).sum(axis=1)
    return numpy.where(constant, numpy.nan, together / numpy.where(constant, 1.0, spread))


def _constant(scores: ndarray, weights: ndarray) -> ndarray:
    """Return (resamples,): whether all drawn heads have the same score."""
    drawn = weights > 0
    highest = numpy.where(drawn, scores, -numpy.inf).max(axis=1)
    return highest == numpy.where(drawn, scores, numpy.inf).min(axis=1)


def _spearman(first: ndarray, second: ndarray, weights: ndarray) -> ndarray:
    return _pearson(_ranks(first, weights), _ranks(second, weights), weights)


def _ranks(scores: ndarray, weights: ndarray) -> ndarray:
    """Return the average rank of each head within each resample, (resamples, heads)."""
    below = (scores[:, None] < scores).astype(float)  # (heads, heads): row is below column
    equal = (scores[:, None] == scores).astype(float)
    return weights @ below + (weights @ equal + 1.0) / 2.0


def _kendall(first: ndarray, second: ndarray, weights: ndarray) -> ndarray:
    """Return tau-b; copies of one head are tied with each other in both rankings."""
    a, b = (numpy.sign(scores[:, None] - scores) for scores in (first, second))
    together, pairs_a, pairs_b = (
        ((weights @ signs) * weights).sum(axis=1) for signs in (a * b, numpy.abs(a), numpy.abs(b))
    )
    pairs = numpy.sqrt(pairs_a * pairs_b)
    return numpy.where(pairs > 0, together / numpy.where(pairs > 0, pairs, 1.0), numpy.nan)


def _copies_on_top(scores: ndarray, k: int, weights: ndarray) -> ndarray:
    """Return the number of copies of each head among the k highest of each resample, (resamples, heads)."""
    order = _descending(scores)
    before = numpy.cumsum(weights[:, order], axis=1) - weights[:, order]
    copies = numpy.empty_like(weights)
    copies[:, order] = numpy.clip(k - before, 0.0, weights[:, order])
    return copies


def _descending(scores: ndarray) -> ndarray:
    return numpy.argsort(-numpy.asarray(scores, dtype=numpy.float64), kind="stable")


def _floats(first: ndarray, second: ndarray) -> tuple[ndarray, ndarray]:
    return numpy.asarray(first, dtype=numpy.float64), numpy.asarray(second, dtype=numpy.float64)
