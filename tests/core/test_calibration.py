"""Simulations: tests have their nominal level under the null, and intervals their nominal coverage."""

from collections.abc import Callable

import numpy
import pytest
from headroom.core import curves
from headroom.core.statistics import (
    Sample,
    draw_resamples,
    estimate_mean,
    exchange_outputs,
    exchanges,
    interval,
    mean,
    mean_p,
    over_runs,
    percentage,
    randomisation_p,
    resample_clusters,
    resampling_weights,
    spread_over_examples,
    tail_p,
    welch,
)
from headroom.models.translation_scores import METRICS
from numpy import ndarray
from scipy.special import betaln
from tables import translated_curve

pytestmark = pytest.mark.slow

DRAWS = 2000
NULLS_DRAWN = 2500
SAMPLES = 1000
Two = tuple[ndarray, ndarray]


def answers(random: numpy.random.Generator, examples: int, right: float = 0.8, discordant: float = 0.1) -> Two:
    """Return right answers of two classifiers that are equally good and differ on some examples, (examples, 2)."""
    base = (random.random(examples) < right).astype(float)
    differ, first = random.random(examples) < discordant, random.random(examples) < 0.5
    own = (numpy.where(differ, first, base), numpy.where(differ, ~first, base))
    return own[0], own[1]


def classified(random: numpy.random.Generator, examples: int) -> Two:
    one, other = (numpy.stack([right, numpy.ones(examples)], axis=1) for right in answers(random, examples))
    return one, other


def lossy(random: numpy.random.Generator, examples: int) -> Two:
    """Return summed nats and numbers of targets of two models with the same expected loss on every sentence."""
    targets = random.integers(5, 30, examples).astype(float)
    base = random.gamma(2.0, 1.0, examples) * targets
    one, other = (numpy.stack([base + random.normal(0, targets**0.5, examples), targets], axis=1) for _ in range(2))
    return one, other


def translated(random: numpy.random.Generator, examples: int) -> Two:
    """Return BLEU statistics (lengths, matches, totals) of two systems, with half of the sentences in common."""
    lengths = random.integers(6, 20, examples)

    def system() -> ndarray:
        quality = random.beta(6, 3, examples)
        totals = [lengths - order for order in range(4)]
        matches = [random.binomial(total, quality ** (order + 1)) for order, total in enumerate(totals)]
        return numpy.stack([lengths, lengths, *matches, *totals], axis=1).astype(float)

    one, other = system(), system()
    common = random.random(examples) < 0.5
    other[common] = one[common]
    return one, other


NULLS: list[tuple[Callable[[numpy.random.Generator, int], Two], str, int]] = [
    (classified, "exact", 300),
    (classified, "exact", 1000),
    (lossy, "loss", 300),
    (translated, "bleu", 300),
]


@pytest.mark.parametrize(("draw", "metric", "examples"), NULLS)
def test_two_systems_alike_are_rarely_told_apart(
    draw: Callable[[numpy.random.Generator, int], Two], metric: str, examples: int
) -> None:
    random = numpy.random.default_rng(examples)
    how = {"exact": percentage, "loss": mean, "bleu": METRICS["bleu"]}[metric]
    drawn = exchanges(examples, SAMPLES)
    found = []
    for _ in range(NULLS_DRAWN):
        full, other = draw(random, examples)
        observed = float(how(other.sum(axis=0)) - how(full.sum(axis=0)))
        null = exchange_outputs(full, other, how, drawn)
        found.append((randomisation_p(null, observed), tail_p(null, observed)))
    assert (numpy.array(found) < 0.05).mean(axis=0) == pytest.approx(0.05, abs=0.01)
    assert (numpy.array(found) < 0.01).mean(axis=0) == pytest.approx(0.01, abs=0.004)


@pytest.mark.parametrize("runs", [3, 5])
def test_a_mean_of_nothing_is_rarely_significant(runs: int) -> None:
    random = numpy.random.default_rng(runs)
    found = numpy.array([mean_p(random.normal(size=runs)) for _ in range(4 * DRAWS)])
    assert (found < 0.05).mean() == pytest.approx(0.05, abs=0.01)
    assert (found < 0.01).mean() == pytest.approx(0.01, abs=0.004)


@pytest.mark.parametrize(("shared", "sizes"), [(0.5, [3] * 60), (0.0, [3] * 60), (0.9, [1, 2, 9] * 40)])
def test_clusters_of_examples_are_no_evidence_on_their_own(shared: float, sizes: list[int]) -> None:
    """Of a cluster, some of the variance is shared; a difference of two systems of equal quality, from -1 to 1."""
    random, clusters = numpy.random.default_rng(3), numpy.repeat(numpy.arange(len(sizes)), sizes)
    weights = resample_clusters(clusters, SAMPLES)
    drawn = spread_over_examples(lambda count: exchanges(count, SAMPLES), clusters)
    found = []
    for _ in range(DRAWS):
        luck = (
            random.normal(size=len(sizes))[clusters] * shared**0.5
            + random.normal(size=len(clusters)) * (1 - shared) ** 0.5
        )
        ones, zero = numpy.ones(len(clusters)), numpy.zeros(len(clusters))
        full, other = (numpy.stack([own, ones], axis=1) for own in (zero, (luck > 0.8) * 1.0 - (luck < -0.8)))
        low, high = interval(mean(weights @ other))
        null = exchange_outputs(full, other, mean, drawn)
        found.append((low <= 0 <= high, randomisation_p(null, float(mean(other.sum(axis=0)))) >= 0.05))
    assert numpy.mean(found, axis=0) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(("draw", "metric", "examples"), NULLS)
def test_intervals_of_differences_contain_the_truth(
    draw: Callable[[numpy.random.Generator, int], Two], metric: str, examples: int
) -> None:
    random = numpy.random.default_rng(examples)
    how = {"exact": percentage, "loss": mean, "bleu": METRICS["bleu"]}[metric]
    weights = resampling_weights(draw_resamples(examples, SAMPLES))
    covered = 0
    for _ in range(DRAWS):
        full, other = (
            Sample({metric: table}, {metric: how}).resampled(weights)[metric] for table in draw(random, examples)
        )
        low, high = interval(other - full)
        covered += low <= 0 <= high
    assert covered / DRAWS == pytest.approx(0.95, abs=0.015)


def test_intervals_over_runs_contain_the_truth() -> None:
    random = numpy.random.default_rng(0)
    means, differences = 0, 0
    for _ in range(4 * DRAWS):
        first, second = random.normal(1.0, 1.0, 3), random.normal(0.0, 2.0, 5)
        low, high = estimate_mean(first)[1:]
        means += low <= 1 <= high
        low, high = welch(first.tolist(), second.tolist())[1:]
        differences += low <= 1 <= high
    assert means / (4 * DRAWS) == pytest.approx(0.95, abs=0.015)
    assert differences / (4 * DRAWS) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("between", "own"), [(0.3, 0.3), (1.0, 0.3), (0.1, 1.0)])
@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_over_runs_and_sentences_contain_the_truth(runs: int, between: float, own: float) -> None:
    """Effects of runs, of sentences, and their interaction."""
    random, sentences = numpy.random.default_rng(runs), 200
    weights = resampling_weights(draw_resamples(sentences, 300)) / sentences
    covered = 0
    for _ in range(DRAWS):
        table = (
            between * random.normal(size=(runs, 1))
            + random.normal(size=(1, sentences))
            + own * 10 * random.normal(size=(runs, sentences))
        )
        low, high = over_runs(table.mean(axis=1), table @ weights.T)[1:]
        covered += low <= 0 <= high
    assert covered / DRAWS == pytest.approx(0.95, abs=0.03 if runs == 2 else 0.02)


FLAT, STRAIGHT, BENT = "flat, then falling", "straight down", "falling faster and faster"
SHARES = numpy.arange(11) / 10


def known_curve(shape: str, at: float) -> ndarray:
    """Return the share kept at every tenth removed."""
    if shape == FLAT:
        return numpy.clip(1 - numpy.maximum(SHARES - at, 0) / 0.3, 0, 1)
    return 1 - SHARES if shape == STRAIGHT else 1 - SHARES**2


RIGHT, CHANCE = 0.83, 0.5
"""A classifier of two classes."""


def changing(random: numpy.random.Generator, kept: ndarray, examples: int, luck: ndarray | None = None) -> ndarray:
    """Return right answers along a curve, (points, examples), of a classifier that keeps these shares of its score.

    Some answers change both ways, and neighbouring steps change much the same ones. Two rows of `luck`, (2, examples),
    make models alike: which examples are answered, and which change.
    """
    churn = 0.06
    answered, turned = random.random((2, examples)) if luck is None else luck
    full = answered < RIGHT
    gained = min(churn / (1 - RIGHT) / 2, 0.9)
    lost = 1 - (CHANCE + (RIGHT - CHANCE) * kept[1:, None] - (1 - RIGHT) * gained) / RIGHT
    again, other = random.random((2, len(kept) - 1, examples))
    own = numpy.where(again < 0.5, turned, other)
    return numpy.vstack([full, own < numpy.where(full, 1 - lost, gained)]).astype(float)


def kept_of_scores(right: ndarray, weights: ndarray, chance: float) -> ndarray:
    """Return shares kept of a curve and of its resamples, (1 + samples, points), from right answers (points, n)."""
    means = numpy.vstack([right.mean(axis=1), weights @ right.T / right.shape[1]])
    return curves.compute_share_kept(means, means[:, :1], chance)


@pytest.mark.parametrize("examples", [150, 1000])
@pytest.mark.parametrize(("shape", "at"), [(FLAT, 0.3), (FLAT, 0.6), (STRAIGHT, 0), (BENT, 0)])
def test_removable_shares_are_near_the_truth_and_their_intervals_contain_it(
    examples: int, shape: str, at: float
) -> None:
    random, kept = numpy.random.default_rng(examples), known_curve(shape, at)
    truth = float(numpy.interp(0.97, kept[::-1] - 1e-12 * numpy.arange(11), SHARES[::-1]))
    found = []
    for _ in range(400):
        weights = resampling_weights(draw_resamples(examples, 400))
        drawn = kept_of_scores(changing(random, kept, examples), weights, CHANCE)
        found.append(curves.removable_share(SHARES, drawn, 0.03))
    assert numpy.median([abs(one.value - truth) for one in found]) <= 0.1
    assert numpy.mean([one.low <= truth <= one.high for one in found]) >= 0.93


def expected_bleu(qualities: ndarray) -> ndarray:
    """Return BLEU of infinitely many sentences at each point: the metric of the expected statistics."""
    orders, lengths = numpy.arange(1, 5), numpy.arange(6, 20)
    totals = (lengths[:, None] - numpy.arange(4)).mean(axis=0)
    moments = numpy.exp(betaln(6 + orders, 3) - betaln(6, 3))  # of the quality of a sentence
    matches = totals * moments * qualities[:, None] ** orders
    sums = numpy.concatenate([numpy.full((len(qualities), 2), lengths.mean()), matches, [totals] * len(qualities)], 1)
    return METRICS["bleu"](sums)


def coverage(draw: Callable[[], ndarray], truth: ndarray, draws: int) -> dict[str, float]:
    """Return how often intervals contain the truth: of areas, of shares kept, and of differences of two curves.

    Every curve is compared with the one drawn before it.

    Args:
        draw: Returns the shares kept of a model, (1 + samples, points).
        truth: (points,) true shares kept of all models.
        draws: The number of intervals of each kind.
    """
    true = numpy.r_[curves.area(SHARES, truth), truth[[2, 5]]]

    def drawn() -> ndarray:
        kept = draw()
        return numpy.column_stack([curves.area(SHARES, kept), kept[:, [2, 5]]])

    first, covered = drawn(), []
    for _ in range(draws):
        second = drawn()
        ends = [(interval(values[1:]), value) for values, value in zip(second.T, true)]
        ends += [(interval(values[1:]), 0.0) for values in (second - first).T]
        covered.append([low <= value <= high for (low, high), value in ends])
        first = second
    names = ("area", "share at 2", "share at 5")
    return dict(zip([*names, *(f"difference of {name}" for name in names)], numpy.mean(covered, axis=0).tolist()))


@pytest.mark.parametrize(("shape", "at", "examples"), [(FLAT, 0.6, 150), (BENT, 0, 150), (BENT, 0, 1000)])
def test_areas_shares_and_their_differences_have_intervals_that_contain_the_truth(
    shape: str, at: float, examples: int
) -> None:
    random, kept = numpy.random.default_rng(examples), known_curve(shape, at)
    weights = resampling_weights(draw_resamples(examples, SAMPLES))

    def draw() -> ndarray:
        return kept_of_scores(changing(random, kept, examples), weights, CHANCE)

    found = coverage(draw, kept, DRAWS if examples > 300 else 2 * DRAWS)
    assert found == {name: pytest.approx(0.95, abs=0.015) for name in found}


def test_areas_and_shares_of_translation_have_intervals_that_contain_the_truth() -> None:
    examples = 150
    random, qualities = numpy.random.default_rng(examples), known_curve(BENT, 0).clip(1e-3) ** 0.3
    weights = resampling_weights(draw_resamples(examples, SAMPLES))
    bleu, truth = METRICS["bleu"], expected_bleu(qualities)

    def draw() -> ndarray:
        points = translated_curve(random, qualities, examples)
        scores = numpy.stack([numpy.r_[bleu(own.sum(axis=0)), bleu(weights @ own)] for own in points], axis=1)
        return curves.compute_share_kept(scores, scores[:, :1], 0.0)

    found = coverage(draw, truth / truth[0], DRAWS)
    assert found == {name: pytest.approx(0.95, abs=0.015) for name in found}


@pytest.mark.parametrize(("runs", "most"), [(2, 0.985), (3, 0.975), (5, 0.967)])
@pytest.mark.parametrize("between", [0.0, 0.3])
def test_areas_of_several_runs_have_intervals_that_contain_the_truth(runs: int, most: float, between: float) -> None:
    """Runs differ in where their curves fall; all are judged on the same sentences.

    With few runs the interval is too wide where both parts of the variance matter, and never too narrow.
    """
    random, examples, draws = numpy.random.default_rng(runs), 300, 2 * DRAWS
    weights = resampling_weights(draw_resamples(examples, 400))
    truth, covered = float(curves.area(SHARES, 1 - SHARES + 0.5 * SHARES * (1 - SHARES))), 0
    for _ in range(draws):
        bends = random.normal(0.5, between, runs)
        luck = random.random((2, examples))
        kept = [1 - SHARES + bend * SHARES * (1 - SHARES) for bend in bends]
        found = [
            curves.area(SHARES, kept_of_scores(changing(random, one, examples, luck), weights, CHANCE)) for one in kept
        ]
        low, high = over_runs([one[0] for one in found], [one[1:] for one in found])[1:]
        covered += low <= truth <= high
    assert 0.935 <= covered / draws <= most
