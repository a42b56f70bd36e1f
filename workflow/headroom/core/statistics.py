"""Statistics, each defined once: paired differences, p-values and their corrections, intervals over runs.

A system is represented by the sufficient statistics of its examples (a `Sample`). A resample of the examples is a row
of counts, so that all resampled sums are one matrix product and the metric is computed on all of them at once. All
systems on one set share its resamples: differences between them are paired. Sentences are drawn as in sacrebleu's
`PairedTest` (Koehn 2004). Examples that depend on each other are a cluster, e.g. the windows of a document. Clusters
are drawn whole, and two systems exchange their outputs of whole clusters.

Curves (areas, removable shares) are in `headroom.core.curves`, correlations of rankings in `headroom.core.ranks`.
Importing scipy.stats takes a second: functions that need it import it when they are called.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from numpy import ndarray

from headroom.core.errors import HeadroomError

SEED = 12345
"""sacrebleu's default seed."""

LEVEL = 0.95
"""The level of all intervals."""

FEW_CLUSTERS = 10
"""Fewer clusters of examples than this, e.g. documents, say little of how others differ."""

POWER = 0.8
"""The power with which a detectable effect would be found."""

Metric = Callable[[ndarray], ndarray]
"""From statistics summed over examples, (..., k), to scores (...)."""


class Estimate(NamedTuple):
    """A number with the ends of its interval, NaN if it has none."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def __neg__(self) -> "Estimate":
        return Estimate(-self.value, -self.high, -self.low)

    def times(self, factor: float) -> "Estimate":
        """Return the estimate in another unit; the factor is positive."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)

    def plus(self, amount: float) -> "Estimate":
        """Return the estimate moved by a known amount."""
        return Estimate(self.value + amount, self.low + amount, self.high + amount)

    def less(self, other: "Estimate") -> "Estimate":
        """Return the difference from a number that is independent of this one.

        Distances to the ends are joined as errors are: of two shares this is the method of Newcombe (1998).
        """
        value = self.value - other.value
        down = float(numpy.hypot(self.value - self.low, other.high - other.value))
        up = float(numpy.hypot(self.high - self.value, other.value - other.low))
        return Estimate(value, value - down, value + up)


# Samples and resamples of one evaluation set


@dataclass(frozen=True)
class Sample:
    """One system on one evaluation set.

    Attributes:
        statistics: By metric, the statistics of each example, (examples, k).
        metrics: By the same names, the function from sums to a score. The first metric is the main one.
    """

    statistics: Mapping[str, ndarray]
    metrics: Mapping[str, Metric]

    def scores(self) -> dict[str, float]:
        """Return every metric on the whole set."""
        return {name: float(metric(self.statistics[name].sum(axis=0))) for name, metric in self.metrics.items()}

    def resampled(self, weights: ndarray) -> dict[str, ndarray]:
        """Return every metric on every resample, (samples,); `weights` as `resampling_weights` gives them."""
        return {name: metric(weights @ self.statistics[name]) for name, metric in self.metrics.items()}


def percentage(statistics: ndarray) -> ndarray:
    """Return the share of correct examples in % from (..., 2): correct examples, examples."""
    return 100.0 * statistics[..., 0] / statistics[..., 1]


def mean(statistics: ndarray) -> ndarray:
    """Return the loss in nats per target from (..., 2): summed nats, number of targets."""
    return statistics[..., 0] / statistics[..., 1]


LOWER_IS_BETTER = frozenset({"loss", "bits", "kl"})


def harm(metric: str, delta: ndarray) -> ndarray:
    """Return the harm of a difference in a metric: positive for lower scores and for higher losses."""
    return delta if metric in LOWER_IS_BETTER else -delta


def draw_resamples(sentences: int, samples: int = 1000) -> ndarray:
    """Draw resamples of the sentences with replacement, as sacrebleu does.

    Returns:
        (samples, sentences) indices of sentences.

    Raises:
        HeadroomError: If the set is empty.
    """
    if sentences < 1:
        raise HeadroomError("evaluation set: contains no sentences; check the set's text files")
    return numpy.random.default_rng(SEED).choice(sentences, size=(samples, sentences), replace=True)


def resampling_weights(indices: ndarray) -> ndarray:
    """Return the frequency of each sentence in each resample, (samples, sentences) as float64.

    Computed once per evaluation set and shared by all systems: `weights @ statistics` are the sums.
    """
    samples, sentences = indices.shape
    offsets = numpy.arange(samples)[:, None] * sentences
    counts = numpy.bincount((indices + offsets).ravel(), minlength=samples * sentences)
    return counts.reshape(samples, sentences).astype(numpy.float64)


def index_clusters(keys: Sequence[Hashable]) -> ndarray:
    """Return the cluster of each example, (examples,), counted from 0: those with equal keys.

    If all keys are equal, every example is a cluster: a single one does not show how clusters differ.

    >>> index_clusters(["a", "b", "a"]).tolist(), index_clusters(["a", "a"]).tolist()
    ([0, 1, 0], [0, 1])
    """
    known: dict[Hashable, int] = {}
    numbers = [known.setdefault(key, len(known)) for key in keys]
    return numpy.array(numbers if len(known) > 1 else range(len(keys)), dtype=numpy.int64)


def count_clusters(keys: Sequence[Hashable]) -> dict[str, int]:
    """Return what a signature says of the resamples: the number of clusters, if examples are in some together."""
    return {"clusters": len({*keys})} if len({*keys}) < len(keys) else {}


def spread_over_examples(drawn: Callable[[int], ndarray], clusters: ndarray) -> ndarray:
    """Return what is drawn for each cluster, given their number, (samples, clusters), for each of its examples."""
    return numpy.take(drawn(int(clusters.max(initial=-1)) + 1), clusters, axis=1)


def resample_clusters(clusters: ndarray, samples: int = 1000) -> ndarray:
    """Return the frequency of each example in each resample, (samples, examples), as `resampling_weights` does.

    Args:
        clusters: The cluster of each example, from `index_clusters`.
        samples: The number of resamples.
    """
    return spread_over_examples(lambda count: resampling_weights(draw_resamples(count, samples)), clusters)


def interval(resampled: ndarray) -> tuple[float, float]:
    """Return the percentile interval of resampled values."""
    low, high = numpy.quantile(resampled, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


# Two systems on the same examples


def exchanges(sentences: int, samples: int = 1000) -> ndarray:
    """Draw the sentences whose outputs two systems exchange, (samples, sentences) of 0 and 1 as float64."""
    return numpy.random.default_rng(SEED).integers(0, 2, size=(samples, sentences)).astype(numpy.float64)


def exchange_outputs(full: ndarray, other: ndarray, metric: Metric, drawn: ndarray) -> ndarray:
    """Return differences under the null hypothesis of equal systems, by approximate randomisation.

    Under the null the outputs of a sentence are exchangeable (Noreen 1989; Riezler and Maxwell 2005).

    Args:
        full: (examples, k) statistics of the full model.
        other: (examples, k) statistics of the other system.
        metric: From summed statistics to a score.
        drawn: As `exchanges` gives it, (samples, examples).

    Returns:
        (samples,) differences, other minus full, with the drawn outputs exchanged.
    """
    changed = numpy.flatnonzero((other != full).any(axis=1))  # most outputs do not change when a head is removed
    moved = drawn[:, changed] @ (other - full)[changed]  # (samples, k)
    return metric(other.sum(axis=0) - moved) - metric(full.sum(axis=0) + moved)


def randomisation_p(null: ndarray, observed: float) -> float:
    """Return the two-sided p of an observed difference among (samples,) exchanged ones, ties counted half.

    The observed one is one of the draws. Ties are common in shares of correct answers; counted in full they make the
    test conservative (hence the mid-p value, Lancaster 1961). A difference of exactly zero has p = 1.
    """
    if observed == 0:
        return 1.0
    sizes, size = numpy.abs(null), abs(observed)
    equal = numpy.isclose(sizes, size, rtol=1e-9, atol=1e-12)
    above = (sizes > size) & ~equal
    return float((above.sum() + 0.5 * (equal.sum() + 1)) / (len(null) + 1))


def tail_p(null: ndarray, observed: float) -> float:
    """Return a two-sided p without the floor of a sampled one, for corrections over many comparisons.

    A sampled p is never below 0.5 / (samples + 1). Holm's correction over m comparisons multiplies the smallest by m:
    1,000 samples could not make any of 72 heads significant at 0.01. Here the observed difference over the standard
    error of (samples,) exchanged ones is referred to the normal distribution.
    """
    from scipy.special import ndtr

    error = float(numpy.sqrt((null**2).mean()))
    if error == 0:
        return 1.0 if observed == 0 else 0.0
    return float(2.0 * ndtr(-abs(observed) / error))


def sacrebleu_p(full: ndarray, other: ndarray, observed: float) -> float:
    """Return the p of sacrebleu's paired bootstrap from (samples,) scores of two systems on the same resamples.

    It counts how often the absolute resampled difference, minus its mean, exceeds the observed one; (count + 1) /
    (samples + 1). Under the null it rejects about twice as often as a two-sided test of its level: it is kept for
    comparison with published numbers. Identical systems have p = 1 (sacrebleu gives them its smallest p).
    """
    differences = other - full
    if observed == 0 and not differences.any():
        return 1.0
    sizes = numpy.abs(differences)
    exceeding = int((sizes - sizes.mean() > abs(observed)).sum())
    return (exceeding + 1) / (len(sizes) + 1)


RIGHT_OR_WRONG = ("accuracy", "exact")
"""Metrics that are a share of correct answers: their statistics begin with 1 (correct) or 0."""


def mcnemar_p(first: ndarray, second: ndarray) -> float:
    """Return the exact two-sided p of McNemar's test on (examples,) of 0 and 1, paired by example."""
    return mcnemar(only_first=int((first > second).sum()), only_second=int((second > first).sum()))


def mcnemar(*, only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test, from the counts of items that only one system has correct."""
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def estimate_share(share: float, count: float) -> Estimate:
    """Return a share of a number of items with its exact interval (Clopper and Pearson 1934).

    Args:
        share: The share.
        count: The number of items; NaN or 0, where it is not known, leaves the share without width.
    """
    from scipy.stats import binomtest

    if not count > 0:
        return Estimate(share, share, share)
    exact = binomtest(round(share * count), int(count)).proportion_ci(LEVEL)
    return Estimate(share, float(exact.low), float(exact.high))


def compute_unpaired_p(first: ndarray, second: ndarray) -> float:
    """Return the two-sided p of Student's t-test that treats (examples,) of 0 and 1 as independent samples.

    Michel et al. 2019 report a t-test without stating whether it is paired. Systems answer the same
    examples, and mostly identically: the unpaired test misses many differences that McNemar's test detects.
    """
    from scipy.stats import ttest_ind

    if numpy.ptp(first) == 0 and numpy.ptp(second) == 0:  # no variance: t is not defined
        return 1.0 if first[0] == second[0] else 0.0
    return float(ttest_ind(first, second).pvalue)


# Corrections for many tests


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm (1979), in the order given.

    The smallest of m is multiplied by m, the next by m - 1, ...; never below an earlier one, at most 1.
    Rejecting values below 0.05 keeps the family-wise error rate below 5 %.
    """
    values = numpy.asarray(p_values, dtype=numpy.float64)
    rising = numpy.argsort(values, kind="stable")
    multiplied = values[rising] * numpy.arange(len(values), 0, -1)
    corrected = numpy.empty_like(values)
    corrected[rising] = numpy.minimum(1.0, numpy.maximum.accumulate(multiplied))
    return [float(value) for value in corrected]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Benjamini and Hochberg (1995), in the order given.

    Rejecting values below 0.05 keeps the false discovery rate below 5 %.
    """
    values = numpy.asarray(p_values, dtype=numpy.float64)  # also in scipy.stats, whose import takes a second
    rising = numpy.argsort(values, kind="stable")
    multiplied = values[rising] * (len(values) / numpy.arange(1, len(values) + 1))
    corrected = numpy.empty_like(values)
    corrected[rising] = numpy.minimum(1.0, numpy.minimum.accumulate(multiplied[::-1])[::-1])
    return [float(value) for value in corrected]


def interval_p(found: Estimate, end: float) -> float:
    """Return the two-sided p of a number being at an end, by the normal distribution from the side that faces it."""
    from scipy.special import ndtr, ndtri

    side = found.value - found.low if found.value > end else found.high - found.value
    distance = abs(found.value - end)
    return 2.0 * float(ndtr(-ndtri((1 + LEVEL) / 2) * distance / side)) if side else float(distance == 0)


def expect_false(p_values: Sequence[float], level: float) -> float:
    """Return how many of these tests are expected to reject a true null hypothesis at a level (Storey 2002).

    Hypotheses that are true have p above 0.5 in half of the cases: twice as many as have it are taken to be true.
    """
    true = 2 * sum(p > 0.5 for p in p_values)
    return level * min(true, len(p_values))


# Means over runs


def half_width(runs: int, comparisons: int = 1) -> float:
    """Return half the t-interval of a mean over two or more runs, in standard deviations between runs.

    Args:
        runs: Their number.
        comparisons: As in `estimate_mean`.
    """
    from scipy.stats import t

    return float(t.ppf(1 - (1 - LEVEL) / 2 / comparisons, runs - 1) / numpy.sqrt(runs))


def find_detectable(found: Estimate, runs: int) -> float:
    """Return the mean over runs that differs from 0 with a power of 80 % (`POWER`); NaN without an interval.

    By a two-sided t-test at 5 %, whose statistic has a noncentral t distribution (Cohen 1988).

    Args:
        found: A mean over runs with its t-interval (`estimate_mean`), whose width says how far runs lie apart.
        runs: Their number, at least two.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    if math.isnan(found.high):
        return float("nan")
    most = float(t.ppf((1 + LEVEL) / 2, runs - 1))  # standard errors

    def excess(shift: float) -> float:
        return float(nct.sf(most, runs - 1, shift)) - POWER  # the other tail is next to nothing

    return float(brentq(excess, 0.0, 2 * most)) * (found.high - found.value) / most


def estimate_mean(values: Sequence[float] | ndarray, comparisons: int = 1) -> Estimate:
    """Return the mean of (n,) values with its t-interval; without one for a single value.

    Args:
        values: One number per run (or per head).
        comparisons: The number of simultaneous intervals, for Bonferroni's correction.
    """
    center = float(numpy.mean(values))
    if len(values) < 2:
        return Estimate(center)
    half = half_width(len(values), comparisons) * float(numpy.std(values, ddof=1))
    return Estimate(center, center - half, center + half)


def mean_of_groups(groups: Sequence[ndarray]) -> Estimate:
    """Return the mean of the means of groups of numbers with its t-interval over groups; of a single one over numbers.

    It is never narrower than the numbers within groups leave it: a few groups may be alike by chance.

    Args:
        groups: (n,) numbers each, e.g. of the sites of every run.
    """
    from scipy.stats import t

    over = estimate_mean([float(own.mean()) for own in groups])
    apart = numpy.concatenate([own - own.mean() for own in groups])
    freedom = len(apart) - len(groups)
    error = float((apart**2).sum() / freedom / len(apart)) ** 0.5 if freedom else math.nan
    half = float(numpy.fmax(over.high - over.value, t.ppf((1 + LEVEL) / 2, freedom) * error))
    return Estimate(over.value, over.value - half, over.value + half)


def estimate_slope(places: Sequence[float] | ndarray, values: Sequence[float] | ndarray) -> Estimate:
    """Return the slope of the least-squares line through (n,) points with an interval robust to unequal variances.

    The variance is HC3 (MacKinnon and White 1985): each squared residual over (1 - leverage)^2. Student's t has the
    degrees of freedom of Satterthwaite, which match mean and variance of that sum under equal variances (Bell and
    McCaffrey 2002). With 2, 2 and 5 points at three places it covers 96 and 95 % where standard deviations are as 3:2:1
    and 4:2:1, and 99 % where they are equal; with n - 2 degrees it would be 91, 89 and 96 %, by the usual error of the
    slope 85, 81 and 95 %.

    Args:
        places: Where the points are, such that any n - 1 of them are at two or more places.
        values: One number per point; their errors are taken as independent.
    """
    from scipy.stats import t

    design = numpy.vander(numpy.asarray(places, dtype=float), 2)  # (n, 2): the place, 1
    solution = numpy.linalg.pinv(design)  # (2, n)
    residual = numpy.eye(len(design)) - design @ solution  # (n, n): from values to residuals
    weights = solution[0] ** 2 / numpy.diag(residual) ** 2
    variance = float(weights @ (residual @ values) ** 2)
    spread = residual @ (weights[:, None] * residual)
    freedom = float(numpy.trace(spread) ** 2 / (spread**2).sum())
    value, half = float(solution[0] @ values), float(t.ppf((1 + LEVEL) / 2, freedom)) * variance**0.5
    return Estimate(value, value - half, value + half)


def jackknife(whole: float, without: Sequence[float] | ndarray) -> Estimate:
    """Return a statistic of runs with its t-interval from pseudo-values (Tukey 1958); without one for fewer than three.

    For statistics of pairs of runs, whose values share runs, so that their spread says too little.

    Args:
        whole: The statistic of all runs.
        without: (runs,) the statistic without each of them.
    """
    if len(without) < 3:
        return Estimate(whole)
    found = estimate_mean(len(without) * whole - (len(without) - 1) * numpy.asarray(without, dtype=float))
    return found.plus(whole - found.value)


def outliers(values: Sequence[float] | ndarray) -> list[int]:
    """Return the place of the value that lies too far from the mean of (n,) values, if there is one.

    Grubbs' two-sided test (1950) at 5 %: the largest distance from the mean, in standard deviations, against its
    largest likely value. Two values, or equal ones, have none.
    """
    from scipy.stats import t

    found = numpy.asarray(values, dtype=float)
    runs, spread = len(found), float(numpy.std(found, ddof=1)) if len(found) > 1 else 0.0
    if runs < 3 or not spread > 0:
        return []
    distance = numpy.abs(found - found.mean()) / spread
    tail = float(t.isf((1 - LEVEL) / (2 * runs), runs - 2))
    most = (runs - 1) / runs**0.5 * (tail**2 / (runs - 2 + tail**2)) ** 0.5
    return [int(distance.argmax())] if distance.max() > most else []


def mean_p(values: Sequence[float] | ndarray) -> float:
    """Return the two-sided p of a mean of (n,) values being 0, by Student's t; NaN for fewer than two values."""
    from scipy.stats import t

    if len(values) < 2:
        return float("nan")
    center, error = float(numpy.mean(values)), float(numpy.std(values, ddof=1) / numpy.sqrt(len(values)))
    if error == 0:
        return 1.0 if center == 0 else 0.0
    return float(2 * t.sf(abs(center) / error, len(values) - 1))


def welch(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the difference of two means with Welch's interval; without one if either has a single value."""
    from scipy.stats import t

    value = float(numpy.mean(first) - numpy.mean(second))
    if min(len(first), len(second)) < 2:
        return Estimate(value)
    parts = [float(numpy.var(one, ddof=1)) / len(one) for one in (first, second)]
    if sum(parts) == 0:
        return Estimate(value, value, value)
    freedom = sum(parts) ** 2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (first, second)))
    half = float(t.ppf((1 + LEVEL) / 2, freedom)) * sum(parts) ** 0.5
    return Estimate(value, value - half, value + half)


def find_median(values: "Iterable[float] | ndarray") -> Estimate:
    """Return the median of (n,) values with its interval from order statistics; without one for fewer than six.

    The ends are the k-th smallest and the k-th largest value, with the largest k for which fewer than k of n
    values fall below the median with a chance of at most 2.5 % (binomial, exact).
    """
    from scipy.stats import binom

    ordered = numpy.sort(numpy.array(list(values), dtype=float))
    place = int(binom.ppf((1 - LEVEL) / 2, len(ordered), 0.5)) if len(ordered) else 0
    if not place:
        return Estimate(float(numpy.median(ordered)) if len(ordered) else float("nan"))
    return Estimate(float(numpy.median(ordered)), float(ordered[place - 1]), float(ordered[-place]))


def over_runs(values: Sequence[float] | ndarray, resampled: Sequence[ndarray] | ndarray) -> Estimate:
    """Return the mean over runs with an interval for other runs on other sentences.

    Runs and sentences are crossed: all runs are judged on the same sentences. The variance of the mean is that
    between runs over their number, plus that of the mean over resamples of the sentences, minus the component in both:
    the interaction of runs and sentences (estimated from the resamples of each run). The standard error is multiplied
    by the mean of two quantiles, Student's t for the part between runs and the normal one for that of the sentences,
    weighted with the two variances (Cochran 1964): few runs make the first variance uncertain, not the second.
    Coverage by simulation is 94 to 98 % with two runs, 95 to 97 % with three, 95 to 96 % from five on; it is highest
    where the smaller part of the variance is between runs.

    Args:
        values: (runs,) numbers.
        resampled: (runs, samples) the same numbers on resamples of the sentences that all runs share.

    Returns:
        The mean with its t-interval; of a single run the percentile interval over sentences.
    """
    from scipy.stats import t

    runs, drawn = numpy.asarray(values, dtype=float), numpy.asarray(resampled, dtype=float)
    center = float(runs.mean())
    if len(runs) == 1:
        return Estimate(center, *interval(drawn[0]))
    between = float(runs.var(ddof=1)) / len(runs)
    sentences = float(drawn.mean(axis=0).var(ddof=1))
    both = max(0.0, (float(drawn.var(axis=1, ddof=1).mean()) - sentences) / (len(runs) - 1))
    shared, tail = max(0.0, sentences - both), (1 + LEVEL) / 2
    quantiles = t.ppf(tail, len(runs) - 1), t.ppf(tail, numpy.inf)
    error = (between + shared) ** 0.5
    half = float(quantiles[0] * between + quantiles[1] * shared) / error if error else 0.0
    return Estimate(center, center - half, center + half)
