"""Rank statistics equal scipy's, with intervals equal to a plain bootstrap loop."""

import numpy
import pytest
from headroom.core import ranks
from headroom.core.statistics import draw_resamples
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

ORACLES = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("statistic", ORACLES)
@settings(max_examples=40)
@given(pairs=some.lists(some.tuples(some.integers(-4, 4), some.integers(-4, 4)), min_size=4, max_size=30))
def test_values_equal_scipy_with_ties(statistic: str, pairs: list[tuple[int, int]]) -> None:
    first, second = numpy.array(pairs).T
    found = ranks.correlation(statistic, first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert numpy.isnan(found).all()
    else:
        assert found.value == pytest.approx(ORACLES[statistic](first, second)[0], abs=1e-12)


@pytest.mark.parametrize("statistic", ORACLES)
def test_lists_that_are_constant_or_too_short_have_no_correlation(statistic: str) -> None:
    rising, constant = numpy.arange(6), numpy.ones(6)
    for first, second in ((rising, constant), (constant, rising), (rising[:2], rising[:2])):
        assert numpy.isnan(ranks.correlation(statistic, first, second).value)


@pytest.mark.parametrize("statistic", ORACLES)
def test_intervals_equal_a_plain_loop(statistic: str) -> None:
    generator = numpy.random.default_rng(3)
    first = generator.normal(size=24).round(1)
    second = (first + generator.normal(size=24)).round(1)
    indices = draw_resamples(24, ranks.RESAMPLES)
    values = [ORACLES[statistic](first[row], second[row])[0] for row in indices]
    found = ranks.correlation(statistic, first, second)
    assert found[1:] == pytest.approx(numpy.quantile(values, [0.025, 0.975]), abs=1e-12)


def test_the_reliability_of_a_whole_set_worked_by_hand() -> None:
    first, second = numpy.array([1, 2, 3, 4]), numpy.array([2, 1, 3, 4])  # halves correlate by 0.8
    assert ranks.reliability(first, second) == pytest.approx(2 * 0.8 / 1.8)
    assert ranks.reliability(first, -second) == ranks.reliability(first, -first) == 0.0


def test_a_single_head_carries_the_pearson_correlation() -> None:
    first = numpy.array([9.0, 1, -1, 1, -1])
    second = numpy.array([9.0, 1, 1, -1, -1])
    kept = ranks.without_highest(first, 1)
    assert ranks.correlation("pearson", first, second).value > 0.9
    assert kept.tolist() == [1, 2, 3, 4]
    assert ranks.correlation("pearson", first[kept], second[kept]).value == pytest.approx(0)


def test_overlap_worked_by_hand() -> None:
    first = numpy.array([5, 4, 3, 2, 1])
    second = numpy.array([1, 4, 5, 3, 2])
    assert ranks.overlap(first, second, 1).value == 0
    assert ranks.overlap(first, second, 2).value == 0.5
    assert ranks.overlap(first, second, 3).value == pytest.approx(2 / 3)
    assert ranks.overlap(first, first, 2) == (1.0, 1.0, 1.0)
    assert ranks.overlap(numpy.zeros(4), numpy.array([0, 0, 1, 1]), 2).value == 0  # equal ones in the order given
    assert ranks.without_highest(numpy.array([1, 3, 3, 2]), 1).tolist() == [0, 2, 3]


def test_overlap_interval_equals_a_plain_loop() -> None:
    generator = numpy.random.default_rng(5)
    first, second = generator.normal(size=(2, 12))
    values = []
    for row in draw_resamples(12, ranks.RESAMPLES):
        tops = [set(numpy.argsort(-scores[numpy.sort(row)], kind="stable")[:3]) for scores in (first, second)]
        values.append(len(tops[0] & tops[1]) / 3)
    assert ranks.overlap(first, second, 3)[1:] == pytest.approx(numpy.quantile(values, [0.025, 0.975]))
