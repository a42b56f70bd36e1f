"""Resamples and corpus metrics equal sacrebleu's; p-values and intervals worked by hand, or by slow loops."""

import math
import random

import numpy
import pytest
from headroom.core import statistics
from headroom.engines import translation_scores as metrics
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

SENTENCE = "the old red house sees a small dog near that tall green tree and sings to many birds"
WORDS = SENTENCE.split()


def corpus(sentences: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=source.randint(5, 14))) for _ in range(sentences)]


def corrupted(lines: list[str], rate: float, seed: int) -> list[str]:
    source = random.Random(seed)
    return [
        " ".join(source.choice(WORDS) if source.random() < rate else word for word in line.split()) for line in lines
    ]


def statistics_of(metric: BLEU | CHRF, hypotheses: list[str], references: list[str]) -> numpy.ndarray:
    return numpy.array(metric._extract_corpus_statistics(hypotheses, [references]))


def score(metric: str, table: numpy.ndarray) -> float:
    return statistics.Sample({metric: table}, {metric: metrics.METRICS[metric]}).scores()[metric]


def resampled_scores(metric: str, table: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    sample = statistics.Sample({metric: table}, {metric: metrics.METRICS[metric]})
    return sample.resampled(weights)[metric]


@pytest.fixture(scope="module")
def references() -> list[str]:
    return corpus(200, seed=1)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_corpus_scores_equal_sacrebleu(references: list[str], rate: float) -> None:
    hypotheses = corrupted(references, rate, seed=2)
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        expected = metric.corpus_score(hypotheses, [references]).score
        found = score(name, statistics_of(metric, hypotheses, references))
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        ("", "the dog"),
        ("the dog", ""),
        ("the", "the dog sings here now"),
        ("a b c d e", "f g h i j"),
        ("the dog", "the dog"),
        ("the dog sees birds", "the cat sees trees"),
        ("dog the old a tree", "the dog a old man"),
        ("a", "a"),
    ],
)
def test_degenerate_sentences_equal_sacrebleu(hypothesis: str, reference: str) -> None:
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        expected = metric.corpus_score([hypothesis], [[reference]]).score
        found = score(name, statistics_of(metric, [hypothesis], [reference]))
        assert found == pytest.approx(expected, abs=1e-9)


def test_bleu_worked_by_hand() -> None:
    # precisions 6/8, 3/6, 0 -> 1/(2*4), 0 -> 1/(4*2); brevity exp(1 - 10/8)
    statistics = numpy.array([8, 10, 6, 3, 0, 0, 8, 6, 4, 2])
    expected = 100 * math.exp(-0.25) * (0.75 * 0.5 * 0.125 * 0.125) ** 0.25
    assert float(metrics.bleu_from_statistics(statistics)) == pytest.approx(expected)


def test_chrf_worked_by_hand() -> None:
    # two effective orders: precision (2/4 + 1/2)/2 = 0.5, recall (2/8 + 1/4)/2 = 0.25
    statistics = numpy.array([4, 8, 2, 2, 4, 1] + [0] * 12)
    expected = 100 * 5 * 0.5 * 0.25 / (4 * 0.5 + 0.25)
    assert float(metrics.chrf_from_statistics(statistics)) == pytest.approx(expected)


def test_means_are_of_totals_not_of_sentences() -> None:
    assert score("loss", numpy.array([[2.0, 1], [1.0, 5]])) == pytest.approx(0.5)
    assert score("exact", numpy.array([[1, 1], [0, 1], [1, 1], [1, 1]])) == pytest.approx(75.0)


def test_resampled_scores_equal_scores_of_resampled_sentences(references: list[str]) -> None:
    table = statistics_of(CHRF(), corrupted(references, 0.3, seed=3), references)
    indices = statistics.draw_resamples(len(references), samples=5)
    found = resampled_scores("chrf", table, statistics.resampling_weights(indices))
    assert found == pytest.approx([score("chrf", table[row]) for row in indices], rel=1e-12)


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.1), (0.1, 0.12), (0.1, 0.2), (0.3, 0.1)])
@pytest.mark.parametrize("samples", [1000, 333])
def test_p_equals_sacrebleu(references: list[str], first: float, second: float, samples: int) -> None:
    full, other = corrupted(references, first, seed=4), corrupted(references, second, seed=5)
    metrics = {"BLEU": BLEU(references=[references]), "CHRF": CHRF(references=[references])}
    _, results = PairedTest(
        [("full", full), ("other", other)], metrics, references=None, test_type="bs", n_samples=samples
    )()
    weights = statistics.resampling_weights(statistics.draw_resamples(len(references), samples))
    for name, metric, key in (("bleu", BLEU(), "BLEU"), ("chrf", CHRF(), "chrF2")):
        tables = [statistics_of(metric, lines, references) for lines in (full, other)]
        scores = [score(name, table) for table in tables]
        resampled = [resampled_scores(name, table, weights) for table in tables]
        found = statistics.sacrebleu_p(*resampled, scores[1] - scores[0])
        assert found == results[key][1].p_value


def test_the_p_of_sacrebleu_worked_by_hand() -> None:
    full = numpy.zeros(4)
    other = numpy.array([1.0, 3.0, -1.0, 3.0])  # sizes 1 3 1 3, mean 2: centred -1 1 -1 1
    assert statistics.sacrebleu_p(full, other, 0.5) == pytest.approx((2 + 1) / (4 + 1))
    assert statistics.sacrebleu_p(full, other, -1.0) == pytest.approx(1 / 5)
    assert statistics.sacrebleu_p(full, full, 0.0) == 1.0


def test_exchanged_differences_equal_those_of_exchanged_sentences(references: list[str]) -> None:
    """The slow way: swap the outputs of the drawn sentences, and score both corpora."""
    full, other = (statistics_of(BLEU(), corrupted(references, 0.2, seed), references) for seed in (4, 5))
    drawn = statistics.exchanges(len(references), samples=6)
    found = statistics.exchange_outputs(full, other, metrics.METRICS["bleu"], drawn)
    for row, difference in zip(drawn.astype(bool), found):
        first, second = full.copy(), other.copy()
        first[row], second[row] = other[row], full[row]
        assert difference == pytest.approx(score("bleu", second) - score("bleu", first), abs=1e-9)


def test_the_p_of_randomisation_worked_by_hand() -> None:
    null = numpy.array([-2.0, -1.0, 0.0, 1.0, 2.0, 1.0, -3.0])
    # of size above 1.5: 3 of 7, none equal but the observed one, counted half
    assert statistics.randomisation_p(null, 1.5) == pytest.approx((3 + 0.5) / 8)
    # of size 2: one above, two equal and the observed one counted half
    assert statistics.randomisation_p(null, -2.0) == pytest.approx((1 + 0.5 * 3) / 8)
    assert statistics.randomisation_p(null, 0.0) == 1.0


def test_systems_alike_do_not_differ() -> None:
    assert statistics.randomisation_p(numpy.zeros(9), 0.0) == 1.0
    assert statistics.tail_p(numpy.zeros(9), 0.0) == 1.0
    assert statistics.tail_p(numpy.zeros(9), 0.1) == 0.0  # a difference that no exchange gives


def test_tail_p_is_that_of_the_normal_distribution() -> None:
    null = numpy.array([-1.0, 1.0])  # standard error 1
    assert statistics.tail_p(null, 1.959964) == pytest.approx(0.05, abs=1e-6)
    assert statistics.tail_p(null, 6.0) < 1 / 1001 / 72


def test_the_difference_of_two_estimates_joins_opposite_ends() -> None:
    found = statistics.Estimate(5.0, 4.0, 7.0).less(statistics.Estimate(2.0, 0.0, 6.0))
    assert found == pytest.approx((3.0, 3 - math.hypot(1, 4), 3 + math.hypot(2, 2)))


def test_harm_is_a_lower_score_or_a_higher_loss() -> None:
    delta = numpy.array([-2.0, 1.0])
    assert statistics.harm("bleu", delta).tolist() == [2.0, -1.0]
    assert statistics.harm("loss", delta).tolist() == [-2.0, 1.0]


def test_a_sample_scores_all_its_metrics() -> None:
    metrics = {"exact": statistics.percentage, "loss": statistics.mean}
    tables = {"exact": numpy.array([[1, 1], [0, 1]]), "loss": numpy.array([[3.0, 2], [1.0, 2]])}
    sample = statistics.Sample(tables, metrics)
    assert sample.scores() == {"exact": 50.0, "loss": 1.0}
    resampled = sample.resampled(numpy.array([[2.0, 0.0], [0.0, 2.0]]))
    assert resampled["exact"].tolist() == [100.0, 0.0]
    assert resampled["loss"].tolist() == [1.5, 0.5]
