"""The paired bootstrap equals sacrebleu's, and its corpus metrics equal sacrebleu's."""

import math
import random
import time

import numpy
import pytest
from headroom.core import bootstrap
from headroom.core.errors import HeadroomError
from headroom.engines.translation import judging as metrics
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

WORDS = [
    "the",
    "old",
    "red",
    "house",
    "sees",
    "a",
    "small",
    "dog",
    "near",
    "that",
    "tall",
    "green",
    "tree",
    "and",
    "sings",
    "to",
    "many",
    "birds",
]


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


def score(metric: str, statistics: numpy.ndarray) -> float:
    return bootstrap.Sample({metric: statistics}, {metric: metrics.METRICS[metric]}).scores()[metric]


def resampled_scores(metric: str, statistics: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    sample = bootstrap.Sample({metric: statistics}, {metric: metrics.METRICS[metric]})
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


def test_weights_count_the_drawn_sentences() -> None:
    indices = numpy.array([[0, 0, 2], [1, 2, 2]])
    assert bootstrap.resampling_weights(indices).tolist() == [[2, 0, 1], [0, 1, 2]]


def test_resampled_scores_equal_scores_of_resampled_sentences(references: list[str]) -> None:
    table = statistics_of(CHRF(), corrupted(references, 0.3, seed=3), references)
    indices = bootstrap.resampled_indices(len(references), samples=5)
    found = resampled_scores("chrf", table, bootstrap.resampling_weights(indices))
    assert found == pytest.approx([score("chrf", table[row]) for row in indices], rel=1e-12)


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.1), (0.1, 0.12), (0.1, 0.2), (0.3, 0.1)])
@pytest.mark.parametrize("samples", [1000, 333])
def test_p_equals_sacrebleu(references: list[str], first: float, second: float, samples: int) -> None:
    full, other = corrupted(references, first, seed=4), corrupted(references, second, seed=5)
    metrics = {"BLEU": BLEU(references=[references]), "CHRF": CHRF(references=[references])}
    _, results = PairedTest(
        [("full", full), ("other", other)], metrics, references=None, test_type="bs", n_samples=samples
    )()
    weights = bootstrap.resampling_weights(bootstrap.resampled_indices(len(references), samples))
    for name, metric, key in (("bleu", BLEU(), "BLEU"), ("chrf", CHRF(), "chrF2")):
        tables = [statistics_of(metric, lines, references) for lines in (full, other)]
        scores = [score(name, table) for table in tables]
        resampled = [resampled_scores(name, table, weights) for table in tables]
        found = bootstrap.paired_difference(*resampled, scores[1] - scores[0])
        assert found.p == results[key][1].p_value
        assert found.delta == pytest.approx(results[key][1].score - results[key][0].score)
        assert found.low < found.delta < found.high


def test_p_and_interval_worked_by_hand() -> None:
    full = numpy.zeros(4)
    other = numpy.array([1.0, 3.0, -1.0, 3.0])  # sizes 1 3 1 3, mean 2: centred -1 1 -1 1
    found = bootstrap.paired_difference(full, other, 0.5)
    assert found.p == pytest.approx((2 + 1) / (4 + 1))
    assert found[:3] == pytest.approx((0.5, -1 + 0.075 * 2, 3.0))
    assert bootstrap.paired_difference(full, other, -1.0).p == pytest.approx(1 / 5)


def test_identical_systems_do_not_differ() -> None:
    same = numpy.array([1.0, 2.0, 3.0])
    assert bootstrap.paired_difference(same, same, 0.0) == (0.0, 0.0, 0.0, 1.0)
    assert bootstrap.tail_p(same, same, 0.0) == 1.0


def test_tail_p_is_that_of_the_normal_distribution() -> None:
    differences = numpy.array([-1.0, 0.0, 1.0])  # standard error 1
    assert bootstrap.tail_p(numpy.zeros(3), differences, 1.959964) == pytest.approx(0.05, abs=1e-6)
    assert bootstrap.tail_p(numpy.zeros(3), differences, 6.0) < 1 / 1001 / 72


def test_interval_has_the_level_asked_for() -> None:
    assert bootstrap.interval(numpy.arange(101.0)) == pytest.approx((2.5, 97.5))
    assert bootstrap.interval(numpy.arange(101.0), level=0.8) == pytest.approx((10, 90))


def test_a_sample_scores_all_its_metrics() -> None:
    metrics = {"exact": bootstrap.percentage, "loss": bootstrap.mean}
    tables = {"exact": numpy.array([[1, 1], [0, 1]]), "loss": numpy.array([[3.0, 2], [1.0, 2]])}
    sample = bootstrap.Sample(tables, metrics)
    assert sample.scores() == {"exact": 50.0, "loss": 1.0}
    resampled = sample.resampled(numpy.array([[2.0, 0.0], [0.0, 2.0]]))
    assert resampled["exact"].tolist() == [100.0, 0.0]
    assert resampled["loss"].tolist() == [1.5, 0.5]


def test_an_empty_set_is_a_clear_error() -> None:
    with pytest.raises(HeadroomError, match="without sentences"):
        bootstrap.resampled_indices(0)


def test_a_thousand_resamples_of_all_metrics_take_milliseconds() -> None:
    generator = numpy.random.default_rng(0)
    tables = {"bleu": 10, "chrf": 18, "exact": 2, "loss": 2}
    drawn = {name: generator.integers(1, 9, (500, k)) for name, k in tables.items()}
    sample = bootstrap.Sample(drawn, metrics.METRICS)
    weights = bootstrap.resampling_weights(bootstrap.resampled_indices(500))
    sample.resampled(weights)
    started = time.perf_counter()
    for _ in range(10):
        sample.resampled(weights)
    assert (time.perf_counter() - started) / 10 < 0.1
