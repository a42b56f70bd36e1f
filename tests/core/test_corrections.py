"""Corrections worked by hand."""

import numpy
import pytest
from headroom.core.statistics import benjamini_hochberg, expect_false, holm
from scipy import stats


def test_holm_worked_by_hand() -> None:
    # sorted .01 .02 .03 .04: times 4, 3, 2, 1 = .04 .06 .06 .04, never below an earlier one
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_as_many_false_rejections_are_expected_as_true_hypotheses_allow() -> None:
    assert expect_false([0.001, 0.01, 0.2, 0.4, 0.6, 0.9], 0.05) == pytest.approx(0.05 * 4)  # two above 0.5
    assert expect_false([0.6, 0.7], 0.05) == pytest.approx(0.05 * 2)
    assert expect_false([], 0.05) == 0


def test_holm_stops_at_one() -> None:
    assert holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])


def test_holm_of_many_sampled_p_values_cannot_be_significant() -> None:
    assert min(holm([1 / 1001] * 72)) == pytest.approx(72 / 1001)


def test_benjamini_hochberg_worked_by_hand() -> None:
    # sorted .01 .02 .03 .04: times 4/1, 4/2, 4/3, 4/4, never above a later one
    assert benjamini_hochberg([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.04] * 4)
    assert benjamini_hochberg([0.001, 0.5]) == pytest.approx([0.002, 0.5])


def test_benjamini_hochberg_is_that_of_scipy() -> None:
    random = numpy.random.default_rng(0)
    for size in (1, 2, 7, 72):
        values = random.choice([0.0, 1.0, 0.3, *random.random(size)], size)
        assert benjamini_hochberg(values) == list(stats.false_discovery_control(values))


def test_nothing_to_correct() -> None:
    assert holm([]) == benjamini_hochberg([]) == []
