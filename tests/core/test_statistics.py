"""Resamples and corpus metrics equal sacrebleu's; p-values and corrections are worked by hand, or scipy's."""

import math
import random

import numpy
import pytest
from headroom.core import statistics
from headroom.core.statistics import benjamini_hochberg, compute_unpaired_p, expect_false, holm, mcnemar, mcnemar_p
from headroom.models import translation_scores as metrics
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest
from scipy import stats

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


DEGENERATE = [
    ("", "the dog"),
    ("the dog", ""),
    ("the", "the dog sings here now"),
    ("a b c d e", "f g h i j"),
    ("the dog", "the dog"),
    ("the dog sees birds", "the cat sees trees"),
    ("dog the old a tree", "the dog a old man"),
    ("a", "a"),
]


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU()), ("chrf", CHRF())])
def test_corpus_scores_equal_sacrebleu(references: list[str], name: str, metric: BLEU | CHRF) -> None:
    texts = [(corrupted(references, rate, seed=2), references) for rate in (0.0, 0.1, 0.5, 1.0)]
    for hypotheses, right in texts + [([hypothesis], [reference]) for hypothesis, reference in DEGENERATE]:
        expected = metric.corpus_score(hypotheses, [right]).score
        found = score(name, statistics_of(metric, hypotheses, right))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-9), hypotheses[0]


def test_resampled_scores_equal_scores_of_resampled_sentences(references: list[str]) -> None:
    table = statistics_of(CHRF(), corrupted(references, 0.3, seed=3), references)
    indices = statistics.draw_resamples(len(references), samples=5)
    found = resampled_scores("chrf", table, statistics.resampling_weights(indices))
    assert found == pytest.approx([score("chrf", table[row]) for row in indices], rel=1e-12)


@pytest.mark.parametrize(("first", "second", "samples"), [(0.1, 0.1, 1000), (0.1, 0.12, 1000), (0.3, 0.1, 333)])
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
    assert statistics.randomisation_p(null, 0.0) == statistics.randomisation_p(numpy.zeros(9), 0.0) == 1.0


def test_tail_p_is_that_of_the_normal_distribution() -> None:
    null = numpy.array([-1.0, 1.0])  # standard error 1
    assert statistics.tail_p(null, 1.959964) == pytest.approx(0.05, abs=1e-6)
    assert statistics.tail_p(null, 6.0) < 1 / 1001 / 72
    assert statistics.tail_p(numpy.zeros(9), 0.0) == 1.0
    assert statistics.tail_p(numpy.zeros(9), 0.1) == 0.0  # a difference that no exchange gives


def test_the_difference_of_two_estimates_joins_opposite_ends() -> None:
    found = statistics.Estimate(5.0, 4.0, 7.0).less(statistics.Estimate(2.0, 0.0, 6.0))
    assert found == pytest.approx((3.0, 3 - math.hypot(1, 4), 3 + math.hypot(2, 2)))


def test_harm_is_a_lower_score_or_a_higher_loss() -> None:
    delta = numpy.array([-2.0, 1.0])
    assert statistics.harm("bleu", delta).tolist() == [2.0, -1.0]
    assert statistics.harm("loss", delta).tolist() == [-2.0, 1.0]


def test_a_sample_scores_all_its_metrics_by_totals() -> None:
    tables = {"exact": numpy.array([[1, 1], [0, 1]]), "loss": numpy.array([[3.0, 1], [1.0, 4]])}
    sample = statistics.Sample(tables, {name: metrics.METRICS[name] for name in tables})
    assert sample.scores() == {"exact": 50.0, "loss": 0.8}
    resampled = sample.resampled(numpy.array([[2.0, 0.0], [0.0, 2.0]]))
    assert resampled["exact"].tolist() == [100.0, 0.0]
    assert resampled["loss"].tolist() == [3.0, 0.25]


def test_mcnemar_counts_what_only_one_system_has_right() -> None:
    # 1 of 6 discordant items: 2 * (1 + 6) / 2**6
    assert mcnemar(only_first=1, only_second=5) == pytest.approx(14 / 64)
    assert mcnemar(only_first=3, only_second=3) == 1.0
    assert mcnemar(only_first=0, only_second=0) == 1.0
    first = numpy.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 1])
    second = numpy.array([1, 0, 1, 1, 1, 1, 1, 1, 0, 1])
    assert mcnemar_p(first, second) == mcnemar_p(second, first) == pytest.approx(14 / 64)


def test_the_unpaired_test_is_that_of_scipy() -> None:
    first, second = numpy.array([1, 1, 1, 0, 1]), numpy.array([0, 0, 1, 0])
    assert compute_unpaired_p(first, second) == pytest.approx(stats.ttest_ind(first, second).pvalue)
    ones, zeros = numpy.ones(5), numpy.zeros(5)
    assert compute_unpaired_p(ones, ones) == 1.0
    assert compute_unpaired_p(ones, zeros) == 0.0


def test_holm_worked_by_hand() -> None:
    # sorted .01 .02 .03 .04: times 4, 3, 2, 1 = .04 .06 .06 .04, never below an earlier one
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_as_many_false_rejections_are_expected_as_true_hypotheses_allow() -> None:
    assert expect_false([0.001, 0.01, 0.2, 0.4, 0.6, 0.9], 0.05) == pytest.approx(0.05 * 4)  # two above 0.5
    assert expect_false([0.6, 0.7], 0.05) == pytest.approx(0.05 * 2)
    assert expect_false([], 0.05) == 0


def test_benjamini_hochberg_is_that_of_scipy() -> None:
    random = numpy.random.default_rng(0)
    for size in (1, 2, 7, 72):
        values = random.choice([0.0, 1.0, 0.3, *random.random(size)], size)
        assert benjamini_hochberg(values) == list(stats.false_discovery_control(values))
    assert benjamini_hochberg([]) == []
