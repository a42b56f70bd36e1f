"""Intervals over runs, areas and removable shares of curves: worked by hand, and against scipy."""

import math

import numpy
import pytest
from headroom.core.curves import area, compute_share_kept, mean_of_draws, monotone, removable, removable_share
from headroom.core.statistics import (
    Estimate,
    estimate_mean,
    estimate_share,
    estimate_slope,
    find_median,
    interval_p,
    jackknife,
    mean_of_groups,
    mean_p,
    outliers,
    over_runs,
    welch,
)
from scipy import stats


def test_the_mean_of_runs_worked_by_hand() -> None:
    # sd 1, error 1 / sqrt 3, t 4.3027 with two degrees of freedom
    found = estimate_mean([1.0, 2.0, 3.0])
    assert found == pytest.approx((2.0, 2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)))
    assert estimate_mean([1.0, 1.0]) == (1.0, 1.0, 1.0)


def test_a_single_run_has_no_interval() -> None:
    assert estimate_mean([2.0])[0] == 2.0
    assert all(map(math.isnan, estimate_mean([2.0])[1:]))
    assert math.isnan(mean_p([2.0]))


def test_several_intervals_at_once_are_wider() -> None:
    quantile = stats.t.ppf(1 - 0.025 / 4, 2)
    assert estimate_mean([1.0, 2.0, 3.0], comparisons=4).high == pytest.approx(2 + quantile / math.sqrt(3))


def test_the_p_of_a_mean_is_that_of_scipy() -> None:
    values = [0.3, -0.1, 0.5, 0.2]
    assert mean_p(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert (mean_p([1.0, 1.0]), mean_p([0.0, 0.0])) == (0.0, 1.0)


def test_welch_is_that_of_scipy() -> None:
    first, second = [3.0, 1.0, 4.0, 1.5], [2.0, 2.5]
    low, high = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert welch(first, second) == pytest.approx((numpy.mean(first) - numpy.mean(second), low, high))
    assert welch([1.0, 1.0], [0.0, 0.0]) == (1.0, 1.0, 1.0)
    assert math.isnan(welch([1.0], [0.0, 2.0]).low)


def test_the_slope_worked_by_hand() -> None:
    # leverages 1/2 and 1/3, parts -1/2 and 1/3 in the slope: squared residuals weigh 1 and 1/4, 2 + 6/4 in all
    # degrees of freedom (1 + 2/4)^2 / (1 + 2/16) = 2
    half = 4.302653 * math.sqrt(3.5)
    assert estimate_slope([0, 0, 1, 1, 1], [0, 2, 1, 4, 4]) == pytest.approx((2.0, 2 - half, 2 + half))


def test_a_slope_over_unequal_spreads_covers_as_often_as_it_says() -> None:
    places = numpy.repeat([0, 1, 2], [2, 2, 5])
    for spreads in ([3.0, 2.0, 1.0], [4.0, 2.0, 1.0], [1.0, 1.0, 1.0]):
        random = numpy.random.default_rng(1)
        found = [estimate_slope(places, random.normal(0.0, numpy.take(spreads, places))) for _ in range(1000)]
        assert numpy.mean([one.low < 0 < one.high for one in found]) >= 0.935


def test_the_jackknife_of_a_mean_is_the_t_interval() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    without = [(sum(values) - one) / 3 for one in values]
    assert jackknife(4.0, without) == pytest.approx(estimate_mean(values))
    assert math.isnan(jackknife(1.5, [2.0, 1.0]).low)


@pytest.mark.parametrize("runs", [3, 6])
def test_the_jackknife_of_pairs_covers_as_often_as_it_says(runs: int) -> None:
    """The mean product over pairs of runs, whose expectation is that of a run, squared."""
    random = numpy.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        drawn = random.normal(1.0, 0.3, runs)

        def pairs(values: numpy.ndarray) -> float:
            return float((values.sum() ** 2 - (values**2).sum()) / (len(values) * (len(values) - 1)))

        found = jackknife(pairs(drawn), [pairs(numpy.delete(drawn, out)) for out in range(runs)])
        covered += found.low < 1 < found.high
    assert 0.93 <= covered / 1000 <= 0.98


def test_the_median_has_an_exact_interval() -> None:
    assert find_median(range(1, 11)) == Estimate(5.5, 2.0, 9.0)  # 1 + 10 of 1024 ways below: 1.1 %
    assert find_median(range(1, 7)) == Estimate(3.5, 1.0, 6.0)  # 1 of 64: 1.6 %
    assert math.isnan(find_median(range(5)).low)


def test_runs_without_noise_of_sentences_have_the_t_interval_and_one_run_that_over_sentences() -> None:
    values = [1.0, 2.0, 4.0]
    drawn = numpy.tile(numpy.array(values)[:, None], (1, 50))
    assert over_runs(values, drawn) == pytest.approx(estimate_mean(values))
    assert over_runs([3.0], [numpy.arange(101.0)]) == pytest.approx((3.0, 2.5, 97.5))


def test_equal_runs_have_the_normal_interval_over_sentences() -> None:
    noise = numpy.random.default_rng(0).normal(size=2000)
    found = over_runs([1.0, 1.0], [1 + noise, 1 + noise])
    assert found == pytest.approx((1.0, 1 - 1.96 * noise.std(), 1 + 1.96 * noise.std()), rel=1e-3)


def test_noise_of_single_runs_is_counted_once() -> None:
    """Two runs with sentence noise of their own: its variance is in that between runs already."""
    noise = numpy.random.default_rng(1).normal(size=(2, 4000))
    found = over_runs([-1.0, 1.0], noise)
    assert found == pytest.approx(estimate_mean([-1.0, 1.0]), rel=0.05)


def test_quantiles_are_weighted_with_both_variances() -> None:
    """Two runs 1 apart: the variance is .25 between runs, and .75 of sentences, the same ones for both."""
    noise = numpy.sqrt(0.75) * numpy.tile([-1.0, 1.0], 5000)
    found = over_runs([-0.5, 0.5], [noise - 0.5, noise + 0.5])
    assert found.high == pytest.approx(0.25 * 12.706 + 0.75 * 1.960, abs=0.001)


def test_means_of_groups_are_as_wide_as_the_numbers_within_them_leave() -> None:
    apart = [numpy.array([1.0, 1.2]), numpy.array([2.0, 2.2]), numpy.array([4.0, 4.2])]
    assert mean_of_groups(apart) == pytest.approx(estimate_mean([1.1, 2.1, 4.1]))
    # alike by chance: squares 16 within groups over two degrees of freedom and four numbers
    half = 4.302653 * math.sqrt(16 / 2 / 4)
    assert mean_of_groups([numpy.array([1.0, 5.0])] * 2) == pytest.approx((3.0, 3 - half, 3 + half))


def test_the_p_of_an_interval_is_that_of_the_side_that_faces_the_end() -> None:
    found = Estimate(2.0, 2 - 1.959964, 3.0)
    assert interval_p(found, 0.0) == pytest.approx(2 * stats.norm.sf(2))
    assert interval_p(found, 3.0) == pytest.approx(0.05, abs=1e-6)
    assert (interval_p(Estimate(1.0, 1.0, 1.0), 1.0), interval_p(Estimate(1.0, 1.0, 1.0), 2.0)) == (1.0, 0.0)


def test_outliers_by_grubbs() -> None:
    """Critical values of the two-sided test at 5 %: 1.155 of three values, 1.887 of six."""
    assert outliers([1.0, 1.0001, 9.0]) == [2]
    assert outliers([1.0, 2.0, 3.0]) == outliers([1.0, 9.0]) == outliers([2.0, 2.0, 2.0]) == []
    assert outliers([1.0, 1.1, 0.9, 1.05, 0.95, 3.0]) == [5]
    assert outliers([1.0, 1.5, 0.4, 1.2, 0.7, 2.5]) == []  # 1.74 standard deviations


def test_a_mean_over_random_layouts_has_the_variance_of_a_sample_over_their_number() -> None:
    values = numpy.array([1.0, 2.0, 4.0, 9.0])
    drawn = mean_of_draws([numpy.full(1 + 200_000, value) for value in values])
    assert drawn[0] == 4
    assert drawn[1:].mean() == pytest.approx(4, abs=0.02)
    assert drawn[1:].var() == pytest.approx(values.var(ddof=1) / 4, rel=0.02)
    assert numpy.array_equal(mean_of_draws([numpy.arange(5.0)]), numpy.arange(5.0))  # a single one


def test_a_counted_share_has_an_exact_interval() -> None:
    assert estimate_share(0.0, 10) == pytest.approx((0.0, 0.0, 1 - 0.025**0.1))
    assert estimate_share(0.5, 2) == pytest.approx((0.5, 1 - 0.975**0.5, 0.975**0.5))
    assert estimate_share(0.3, math.nan) == Estimate(0.3, 0.3, 0.3)


TENTHS = numpy.arange(11) / 10


def resampled(curve: list[float] | numpy.ndarray, spread: float = 0.0) -> numpy.ndarray:
    """Return a curve and 101 resamples of it, each shifted as a whole except for the full model."""
    moved = spread * numpy.linspace(-1, 1, 101)[:, None] * (TENTHS[: len(curve)] > 0)
    return numpy.vstack([curve, numpy.asarray(curve) + moved])


def test_what_is_kept_is_counted_from_chance() -> None:
    assert compute_share_kept(numpy.array([90.0, 70.0, 50.0]), numpy.array(90.0), 50.0).tolist() == [1.0, 0.5, 0.0]
    assert compute_share_kept(numpy.array([20.0]), numpy.array([40.0]), 0.0).tolist() == [0.5]
    assert numpy.isnan(compute_share_kept(numpy.array([50.0]), numpy.array([50.0]), 50.0)).all()


def test_areas_by_hand() -> None:
    for removed, kept, expected in (
        ([0, 0.5, 1], [1, 1, 0], 0.75),
        ([0, 1], [1, 0], 0.5),
        ([0, 1], [1, 1], 1.0),
        ([0.5, 1], [1, 0], 0.75),  # begins with all heads
        ([0, 0.5], [1, 0.5], 0.75),  # over what it reaches
        ([0], [1], numpy.nan),
    ):
        assert area(numpy.array(removed, float), numpy.array(kept, float)) == pytest.approx(expected, nan_ok=True)
    resamples = numpy.array([[1.0, 0.0], [1.0, 0.2], [1.0, -0.2]])
    assert area(numpy.array([0.0, 1.0]), resamples).tolist() == pytest.approx([0.5, 0.6, 0.4])


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


def test_all_or_next_to_nothing() -> None:
    for kept, expected in ((numpy.ones(11), 1.0), (numpy.r_[1.0, numpy.zeros(10)], 0.002)):
        found = removable_share(TENTHS, resampled(kept), 0.02)
        assert found.value == pytest.approx(expected)
        assert found.low <= found.value + 0.01
        assert found.high >= found.value
    assert removable(TENTHS[1:], numpy.full((1, 10), 0.5), 0.02) == [0.1]  # below from the first point on
