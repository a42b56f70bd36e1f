"""Curves: shares kept, areas and removable shares, worked by hand."""

import numpy
import pytest
from headroom.core.curves import area, compute_share_kept, monotone, removable_share
from headroom.core.statistics import draw_resamples, resampling_weights

TENTHS = numpy.arange(11) / 10


def resampled(curve: list[float] | numpy.ndarray, spread: float = 0.0) -> numpy.ndarray:
    """Return a curve and 101 resamples of it, each shifted as a whole except for the full model."""
    moved = spread * numpy.linspace(-1, 1, 101)[:, None] * (TENTHS[: len(curve)] > 0)
    return numpy.vstack([curve, numpy.asarray(curve) + moved])


def test_what_is_kept_is_counted_from_chance() -> None:
    assert compute_share_kept(numpy.array([90.0, 70.0, 50.0]), numpy.array(90.0), 50.0).tolist() == [1.0, 0.5, 0.0]
    assert compute_share_kept(numpy.array([20.0]), numpy.array([40.0]), 0.0).tolist() == [0.5]
    assert numpy.isnan(compute_share_kept(numpy.array([50.0]), numpy.array([50.0]), 50.0)).all()


@pytest.mark.parametrize(
    ("removed", "kept", "expected"),
    [
        ([0, 0.5, 1], [1, 1, 0], 0.75),
        ([0, 1], [1, 0], 0.5),
        ([0, 1], [1, 1], 1.0),
        ([0.5, 1], [1, 0], 0.75),  # begins with all heads
        ([0, 0.5], [1, 0.5], 0.75),  # over what it reaches
    ],
)
def test_an_area_by_hand(removed: list[float], kept: list[float], expected: float) -> None:
    assert area(numpy.array(removed, dtype=float), numpy.array(kept, dtype=float)) == pytest.approx(expected)


def test_a_curve_that_reaches_nothing_has_no_area() -> None:
    assert numpy.isnan(area(numpy.array([0.0]), numpy.array([1.0])))


def test_every_resample_has_its_area() -> None:
    kept = numpy.array([[1.0, 0.0], [1.0, 0.2], [1.0, -0.2]])
    assert area(numpy.array([0.0, 1.0]), kept).tolist() == pytest.approx([0.5, 0.6, 0.4])


def test_a_rise_is_averaged_with_the_fall_before_it() -> None:
    assert monotone(numpy.array([[1.0, 0.9, 1.0, 0.2]])) == pytest.approx(numpy.array([[1.0, 0.95, 0.95, 0.2]]))


def test_the_removable_share_is_where_the_curve_falls_below_the_margin() -> None:
    found = removable_share(TENTHS, resampled(numpy.clip(2 * (1 - TENTHS), 0, 1)), 0.02)
    assert found == pytest.approx((0.51, 0.51, 0.51), abs=0.011)


def test_losing_a_sentence_or_two_in_between_does_not_end_it() -> None:
    """A curve that is flat until six tenths are removed, except for its first step."""
    kept = numpy.array([1.0, 0.965, 1.0, 0.99, 1.01, 1.0, 0.99, 0.7, 0.4, 0.2, 0.0])
    found = removable_share(TENTHS, resampled(kept, spread=0.03), 0.03)
    assert 0.6 <= found.value < 0.61
    assert found.low <= 0.6 <= found.high


@pytest.mark.parametrize(("kept", "expected"), [(numpy.ones(11), 1.0), (numpy.r_[1.0, numpy.zeros(10)], 0.002)])
def test_all_or_next_to_nothing(kept: numpy.ndarray, expected: float) -> None:
    found = removable_share(TENTHS, resampled(kept), 0.02)
    assert found.value == pytest.approx(expected)
    assert found.low <= found.value + 0.01
    assert found.high >= found.value


SICK = [83.0, 82.3, 81.7, 83.7, 83.3, 82.0, 81.7, 73.3, 66.0, 61.0, 57.0]
"""Accuracies in % of a pretrained encoder on 300 sentence pairs; the last three, after the fall, are made up."""


@pytest.mark.parametrize(("chance", "expected"), [(100 / 3, 0.60), (57.0, 0.47)])
def test_a_flat_curve_of_three_hundred_examples(chance: float, expected: float) -> None:
    """Flat until six tenths of the heads are removed, but two of its points lose more than 3 % above the larger chance.

    57 % is the share of the most frequent class. With it, two sentences are more than a noticeable loss: the data leave
    open nearly every share up to six tenths, and the interval says so.
    """
    random, examples = numpy.random.default_rng(0), 300
    right = numpy.round(numpy.array(SICK) * examples / 100).astype(int)
    answers = numpy.zeros((len(SICK), examples))
    answers[0, : right[0]] = 1
    for row, count in zip(answers[1:], right[1:], strict=True):  # nine answers become right, more become wrong
        row[random.choice(right[0], count - 9, replace=False)] = 1
        row[right[0] + random.choice(examples - right[0], 9, replace=False)] = 1
    weights = resampling_weights(draw_resamples(examples, 1000)) / examples
    means = 100 * numpy.vstack([answers.mean(axis=1), weights @ answers.T])
    found = removable_share(TENTHS, compute_share_kept(means, means[:, :1], chance), 0.03)
    assert found.value == pytest.approx(expected, abs=0.02)
    assert found.low < 0.2
    assert 0.6 < found.high < 0.66
