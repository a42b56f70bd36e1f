"""What would decide an undecided claim, worked by hand and by simulation."""

import math

import numpy
import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import CLEAR, Decision, find_smallest, recommend
from headroom.claims.verdict import HOLDS, HOLDS_HERE, UNDECIDED, Condition, Number, Reading, above, below
from headroom.core.statistics import Estimate, estimate_mean, find_detectable, over_runs
from scipy.stats import t, ttest_1samp

RUNS = tuple(f"translation.baseline.seed{seed}" for seed in range(1, 10))


def decision(claim: str, *found: tuple[Estimate, Condition], examples: int = 0, seeds: int = 1) -> Decision:
    """Return a claim with one reading that asks of numbers what conditions say."""
    numbers = tuple(Number("x", one, asked=asked) for one, asked in found)
    reading = Reading(numbers, examples=examples, runs=RUNS[:seeds])
    return Decision(all_claims()[claim], "translation", (reading,))


def test_examples_that_decide_one_training_take_the_nearer_of_both_ends() -> None:
    def needed(found: Estimate, *asked: Condition) -> str:
        return recommend(decision("M7", *((found, one) for one in asked), examples=300))

    wide = Estimate(0.5, 0.3, 0.8)  # 0.2 below its value, 0.3 above it
    assert needed(wide, above(0.4)) == "about 900 more sentences for a verdict on this model"  # 4 times
    assert needed(wide, above(0.4), above(0.35)) == "about 900 more sentences for a verdict on this model"
    assert needed(wide, above(0.6)) == "about 2,400 more sentences for a verdict on this model"  # 9 times
    # 2.25 times
    assert needed(wide, above(0.55, refuted=0.7)) == "about 380 more sentences for a verdict on this model"
    assert needed(wide, above(0.5)) == "no number of sentences: it is at the threshold"
    assert recommend(decision("M7", (Estimate(0.5, 0.3, 0.6), above(0.4)))) == ""  # not on examples


def test_what_is_decided_or_has_no_spread_recommends_no_number() -> None:
    assert recommend(decision("M7", (Estimate(0.5, 0.45, 0.6), above(0.4)), examples=300)) == ""
    assert recommend(decision("R2", (Estimate(0.5), above(0.0)), seeds=1)) == ""
    assert recommend(decision("R2", (Estimate(0.5, -9.0, 10.0), above(0.0)), seeds=2)) == "at least 3 seeds"


def half(seeds: float, spread: float) -> float:
    """Return half the t-interval over seeds of a standard deviation."""
    return float(spread * t.ppf(0.975, seeds - 1) / seeds**0.5)


def test_seeds_that_decide_put_the_threshold_outside_at_the_spread_seen() -> None:
    seen = [0.2, 1.0, 0.3]
    found, spread = estimate_mean(seen), float(numpy.std(seen, ddof=1))
    enough, times = find_smallest(found, None, above(0.0), 3)
    assert half(enough, spread) < CLEAR * 0.5 <= half(enough - 1, spread)
    assert times == 1
    assert recommend(decision("R2", (found, above(0.0)), seeds=3)) == f"about {enough - 3:.0f} more seeds"
    # what refutes is farther from the value than what confirms, and so is decided first
    refuted = below(-0.2, refuted=-0.1)
    assert find_smallest(found, None, refuted, 3)[0] < enough


def test_of_pairs_of_seeds_and_sentences_the_smallest_decides() -> None:
    for fixed in (0.2, 0.45):
        found, these = Estimate(0.4, -0.3, 1.1), Estimate(0.4, 0.4 - fixed, 0.4 + fixed)
        seeds, times = find_smallest(found, these, above(0.0), 3)
        spread = (0.7**2 - fixed**2) ** 0.5 / half(3, 1.0)
        assert math.hypot(half(seeds, spread), fixed / times**0.5) < CLEAR * 0.4 * (1 + 1e-9)
        products = [
            number * max(1.0, fixed**2 / ((CLEAR * 0.4) ** 2 - half(number, spread) ** 2))
            for number in range(3, 200)
            if half(number, spread) < CLEAR * 0.4
        ]
        assert seeds * times == pytest.approx(min(products))


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.3, 0.5, 0.7, 0.9])
def test_what_is_needed_decides_in_half_of_the_draws(value: float) -> None:
    """Of undecided means over five trainings, with an interval of 1 to either side, for these trainings of a share."""
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        found, these = (Estimate(value, value - side, value + side) for side in (1.0, share))
        seeds, times = find_smallest(found, these, above(0.0), 5)
        fixed, between = share / 1.96 / times**0.5, math.sqrt(1 - share**2) / half(5, 1.0)
        random, decided = numpy.random.default_rng(5), 0
        for _ in range(2000):
            values = value + between * random.normal(size=int(seeds)) + fixed * random.normal()
            drawn = values[:, None] + fixed * random.normal(size=100)
            decided += over_runs(values, numpy.broadcast_to(drawn, (int(seeds), 100))).low > 0
        assert decided / 2000 >= 0.5, share


def test_a_detectable_mean_is_found_four_times_in_five() -> None:
    for runs in (2, 3, 5, 30):
        spread = numpy.linspace(-1, 1, runs) / numpy.std(numpy.linspace(-1, 1, runs), ddof=1)
        mean = find_detectable(estimate_mean(spread), runs)
        drawn = numpy.random.default_rng(1).normal(mean, 1, (20000, runs))
        assert (ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.01), runs
    assert math.isnan(find_detectable(Estimate(0.5), 1))


def test_the_verdict_on_one_training_is_on_this_model() -> None:
    decided = (Estimate(0.5, 0.45, 0.6), above(0.4))
    assert decision("M7", decided).verdict == HOLDS_HERE
    assert decision("M7", decided, seeds=2).verdict == HOLDS
    assert decision("M11", decided).verdict == HOLDS  # counted: other trainings have as many parameters
    assert decision("R6", decided).verdict == HOLDS  # over rounds of updates
    assert decision("M7", (Estimate(0.5, 0.3, 0.6), above(0.4))).verdict == UNDECIDED
