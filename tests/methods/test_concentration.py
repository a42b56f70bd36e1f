"""Concentration of importance, worked by hand, and by the definition with all pairs of heads."""

import math

import numpy
import pytest
from headroom.methods.arm_quantities import entropy, gini
from scipy import stats

SCORES = numpy.random.default_rng(3).pareto(1.2, 40)


def test_gini_worked_by_hand() -> None:
    # pairs of 1, 2, 5: differences 1, 4, 3, each twice: 16; 2 * 3 * 3 * (8 / 3) = 48
    assert gini(numpy.array([5.0, 1.0, 2.0])) == pytest.approx(16 / 48)


def test_gini_is_that_of_all_pairs() -> None:
    pairs = numpy.abs(SCORES[:, None] - SCORES[None, :]).sum()
    assert gini(SCORES) == pytest.approx(pairs / (2 * 40**2 * SCORES.mean()))


def test_entropy_worked_by_hand() -> None:
    # shares 1/2, 1/4, 1/4: 1.5 bits of the log2(3) there could be
    assert entropy(numpy.array([2.0, 4.0, 2.0])) == pytest.approx(1.5 / math.log2(3))


def test_entropy_is_that_of_another_implementation() -> None:
    assert entropy(SCORES) == pytest.approx(stats.entropy(SCORES, base=40))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_equal_heads_and_one_head_with_everything(scale: float) -> None:
    equal, one = numpy.full(8, scale), numpy.eye(8)[3] * scale
    assert gini(equal) == pytest.approx(0, abs=1e-12)
    assert entropy(equal) == pytest.approx(1)
    assert gini(one) == pytest.approx(7 / 8)
    assert (entropy(one), math.copysign(1, entropy(one))) == (0, 1)


def test_negative_scores_count_as_nothing() -> None:
    assert gini(numpy.array([-3.0, 1.0, 2.0, 5.0])) == gini(numpy.array([0.0, 1.0, 2.0, 5.0]))
    assert entropy(numpy.array([-3.0, 1.0, 1.0])) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("scores", [[], [0.0, 0.0], [-1.0, 0.0], [numpy.nan, 1.0]])
def test_without_importance_there_is_no_concentration(scores: list[float]) -> None:
    assert math.isnan(gini(numpy.array(scores)))
    assert math.isnan(entropy(numpy.array(scores)))


def test_a_single_head_has_no_entropy_to_speak_of() -> None:
    assert gini(numpy.array([2.0])) == 0
    assert math.isnan(entropy(numpy.array([2.0])))
