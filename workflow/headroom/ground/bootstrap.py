"""Paired bootstrap over sentences, for corpus metrics computed from per-sentence sufficient statistics.

A system is known here by what each of its sentences adds to a metric (a `Sample`). A resample of the
sentences is a row of counts, so that all resampled sums are one matrix product and the metric is computed
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
from scipy.stats import norm

from headroom.ground.errors import HeadroomError

SEED = 12345
"""sacrebleu's default seed."""

NGRAM_ORDERS = 4
CHARACTER_ORDERS = 6
BETA_SQUARED = 4.0


class Difference(NamedTuple):
    """A paired difference: other minus full, its percentile interval and its two-sided p."""

    delta: float
    low: float
    high: float
    p: float


def bleu_from_statistics(statistics: ndarray) -> ndarray:
    """Return corpus BLEU (0-100) as sacrebleu computes it: exponential smoothing, all four orders count.

    Args:
        statistics: (..., 10) summed over sentences: system length, reference length, correct n-grams of
            order 1-4, total n-grams of order 1-4 (sacrebleu's `BLEU._extract_corpus_statistics`).

    Returns:
        (...) scores; 0 without any match or without any n-gram of some order.
    """
    system, reference = statistics[..., 0], statistics[..., 1]
    correct = statistics[..., 2 : 2 + NGRAM_ORDERS]  # (..., 4)
    total = statistics[..., 2 + NGRAM_ORDERS :]  # (..., 4)
    missed = correct == 0
    smoothed = numpy.where(missed, 0.5 ** numpy.cumsum(missed, axis=-1), correct)
    defined = correct.any(axis=-1) & (total > 0).all(axis=-1)
    precision = 100.0 * smoothed / numpy.where(total > 0, total, 1.0)
    brevity = numpy.exp(numpy.minimum(0.0, 1.0 - reference / numpy.where(system > 0, system, 1.0)))
    return numpy.where(defined, brevity * numpy.exp(numpy.log(precision).mean(axis=-1)), 0.0)


def chrf_from_statistics(statistics: ndarray) -> ndarray:
    """Return corpus chrF2 (0-100) as sacrebleu computes it: character orders 1-6, no words, beta 2.

    Args:
        statistics: (..., 18) summed over sentences: for each order the number of character n-grams of
            the system, of the reference, and of both (sacrebleu's `CHRF._extract_corpus_statistics`).

    Returns:
        (...) scores. Orders that do not occur in system or reference are left out of the averages.
    """
    by_order = statistics.reshape(*statistics.shape[:-1], CHARACTER_ORDERS, 3)  # (..., 6, 3)
    system, reference, match = by_order[..., 0], by_order[..., 1], by_order[..., 2]
    effective = (system > 0) & (reference > 0)  # (..., 6)
    orders = numpy.maximum(effective.sum(axis=-1), 1)
    precision = _share(match, system, effective).sum(axis=-1) / orders
    recall = _share(match, reference, effective).sum(axis=-1) / orders
    divisor = BETA_SQUARED * precision + recall
    score = 100.0 * (1.0 + BETA_SQUARED) * precision * recall / numpy.where(divisor > 0, divisor, 1.0)
    return numpy.where(divisor > 0, score, 0.0)


def exact_from_statistics(statistics: ndarray) -> ndarray:
    """Return the share of exact sentences in % from (..., 2): exact sentences, sentences."""
    return 100.0 * statistics[..., 0] / statistics[..., 1]


def loss_from_statistics(statistics: ndarray) -> ndarray:
    """Return the loss in nats per token from (..., 2): summed nats, number of target tokens."""
    return statistics[..., 0] / statistics[..., 1]


METRICS: Mapping[str, Callable[[ndarray], ndarray]] = {
    "bleu": bleu_from_statistics,
    "chrf": chrf_from_statistics,
    "exact": exact_from_statistics,
    "loss": loss_from_statistics,
}
"""Metrics in the order of all tables; each maps summed statistics (..., k) to scores (...)."""

LOWER_IS_BETTER = frozenset({"loss"})


def harm(metric: str, delta: ndarray) -> ndarray:
    """Return how much worse a difference in a metric is: positive for lower scores and for higher losses."""
    return delta if metric in LOWER_IS_BETTER else -delta


@dataclass(frozen=True)
class Sample:
    """One system on one evaluation set: metric name -> statistics per sentence, (sentences, k)."""

    statistics: Mapping[str, ndarray]

    def scores(self) -> dict[str, float]:
        """Return every metric on the whole set."""
        return {metric: score(metric, table) for metric, table in self.statistics.items()}

    def resampled(self, weights: ndarray) -> dict[str, ndarray]:
        """Return every metric on every resample, (samples,); `weights` as `resampling_weights` gives them."""
        return {metric: resampled_scores(metric, table, weights) for metric, table in self.statistics.items()}


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


def score(metric: str, statistics: ndarray) -> float:
    """Return a metric over all sentences of (sentences, k) statistics."""
    return float(METRICS[metric](numpy.asarray(statistics, dtype=numpy.float64).sum(axis=0)))


def resampled_scores(metric: str, statistics: ndarray, weights: ndarray) -> ndarray:
    """Return a metric on every resample.

    Args:
        metric: A key of `METRICS`.
        statistics: (sentences, k) per-sentence statistics.
        weights: (samples, sentences) from `resampling_weights`.

    Returns:
        (samples,) scores.
    """
    return METRICS[metric](weights @ numpy.asarray(statistics, dtype=numpy.float64))


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
    error = float((other_resampled - full_resampled).std(ddof=1))
    if error == 0:
        return 1.0 if observed == 0 else 0.0
    return float(2.0 * norm.sf(abs(observed) / error))


def _share(part: ndarray, whole: ndarray, where: ndarray) -> ndarray:
    return numpy.where(where, part / numpy.where(whole > 0, whole, 1.0), 0.0)
