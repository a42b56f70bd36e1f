"""Paired bootstrap over examples, for metrics computed from sufficient statistics of each example.

A system is known here by what each of its examples adds to a metric (a `Sample`). A resample of the
examples is a row of counts, so that all resampled sums are one matrix product and the metric is computed
on all of them at once. Sentences are drawn, and p-values computed, as sacrebleu's `PairedTest` does it
(Koehn 2004), so that both give the same p.

A sampled p-value is never below 1 / (samples + 1). A Holm correction over m comparisons multiplies the
smallest by m: 1,000 samples cannot make any of 72 heads significant at 0.05. `tail_p` has no such floor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from numpy import ndarray

from headroom.core.errors import HeadroomError

SEED = 12345
"""sacrebleu's default seed."""


class Difference(NamedTuple):
    """A paired difference: other minus full, its percentile interval and its two-sided p."""

    delta: float
    low: float
    high: float
    p: float


Metric = Callable[[ndarray], ndarray]
"""From statistics summed over examples, (..., k), to scores (...)."""


def percentage(statistics: ndarray) -> ndarray:
    """Return the share of examples that are right, in %, from (..., 2): right examples, examples."""
    return 100.0 * statistics[..., 0] / statistics[..., 1]


def mean(statistics: ndarray) -> ndarray:
    """Return the loss in nats per target from (..., 2): summed nats, number of targets."""
    return statistics[..., 0] / statistics[..., 1]


LOWER_IS_BETTER = frozenset({"loss"})


def harm(metric: str, delta: ndarray) -> ndarray:
    """Return how much worse a difference in a metric is: positive for lower scores and for higher losses."""
    return delta if metric in LOWER_IS_BETTER else -delta


@dataclass(frozen=True)
class Sample:
    """One system on one evaluation set.

    Attributes:
        statistics: By metric, what each example adds to it, (examples, k).
        metrics: By the same names, how the sums become a score. The first metric is the main one.
    """

    statistics: Mapping[str, ndarray]
    metrics: Mapping[str, Metric]

    def scores(self) -> dict[str, float]:
        """Return every metric on the whole set."""
        return {name: float(metric(self.statistics[name].sum(axis=0))) for name, metric in self.metrics.items()}

    def resampled(self, weights: ndarray) -> dict[str, ndarray]:
        """Return every metric on every resample, (samples,); `weights` as `resampling_weights` gives them."""
        return {name: metric(weights @ self.statistics[name]) for name, metric in self.metrics.items()}


def resampled_indices(sentences: int, samples: int = 1000, seed: int = SEED) -> ndarray:
    """Draw resamples of the sentences with replacement, as sacrebleu does.

    Returns:
        (samples, sentences) indices of sentences.

    Raises:
        HeadroomError: If there is no sentence.
    """
    if sentences < 1:
        raise HeadroomError("cannot resample an evaluation set without sentences; check the set's text files")
    return numpy.random.default_rng(seed).choice(sentences, size=(samples, sentences), replace=True)


def resampling_weights(indices: ndarray) -> ndarray:
    """Return how often each sentence occurs in each resample, (samples, sentences) as float64.

    Computed once per evaluation set and shared by all systems: `weights @ statistics` are the sums.
    """
    samples, sentences = indices.shape
    offsets = numpy.arange(samples)[:, None] * sentences
    counts = numpy.bincount((indices + offsets).ravel(), minlength=samples * sentences)
    return counts.reshape(samples, sentences).astype(numpy.float64)


def interval(resampled: ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of resampled values."""
    low, high = numpy.quantile(resampled, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def paired_difference(full_resampled: ndarray, other_resampled: ndarray, observed: float) -> Difference:
    """Compare two systems on the same resamples.

    The p-value is sacrebleu's (`PairedTest`, test type `bs`): how often the absolute resampled
    difference, less its mean, exceeds the observed one; (count + 1) / (samples + 1). One exception:
    systems without any difference on any resample have p = 1 (sacrebleu gives them its smallest p).

    Args:
        full_resampled: (samples,) scores of the full model.
        other_resampled: (samples,) scores of the other system on the same resamples.
        observed: Score of the other system minus score of the full model on the whole set.
    """
    differences = other_resampled - full_resampled
    low, high = interval(differences)
    if observed == 0 and not differences.any():
        return Difference(0.0, low, high, 1.0)
    sizes = numpy.abs(differences)
    exceeding = int((sizes - sizes.mean() > abs(observed)).sum())
    return Difference(float(observed), low, high, (exceeding + 1) / (len(sizes) + 1))


def tail_p(full_resampled: ndarray, other_resampled: ndarray, observed: float) -> float:
    """Return a two-sided p without the floor of a sampled one, for corrections over many comparisons.

    The observed difference over its bootstrap standard error is referred to the normal distribution.
    """
    from scipy.special import ndtr  # late: slow to import, and of use to few jobs

    error = float((other_resampled - full_resampled).std(ddof=1))
    if error == 0:
        return 1.0 if observed == 0 else 0.0
    return float(2.0 * ndtr(-abs(observed) / error))
