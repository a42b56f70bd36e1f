"""What would decide an undecided claim, worked by hand; how often intervals decide wrongly, by simulation."""

import math

import numpy
import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import Decision, factor, recommend, seeds_for
from headroom.claims.verdict import HOLDS, UNDECIDED, Number, Reading, above
from headroom.core.statistics import Estimate, estimate_mean, find_detectable, over_runs
from scipy.stats import ttest_1samp


def decision(claim: str, *found: tuple[Estimate, float], examples: int = 0, seeds: int = 1) -> Decision:
    """Return a claim with one reading that asks whether numbers are above thresholds."""
    numbers = tuple(Number("x", one, asked=above(threshold)) for one, threshold in found)
    runs = tuple(f"translation.baseline.seed{seed}" for seed in range(1, seeds + 1))
    return Decision(all_claims()[claim], "translation", (Reading(numbers, examples=examples, runs=runs),))


def test_intervals_shrink_with_the_root_of_the_examples() -> None:
    assert factor(Estimate(0.5, 0.3, 0.8), 0.4) == pytest.approx(4)  # below the value it is 0.2 wide
    assert factor(Estimate(0.5, 0.3, 0.8), 0.6) == pytest.approx(9)
    assert factor(Estimate(0.5, 0.45, 0.8), 0.4) == 1
    assert math.isinf(factor(Estimate(0.5, 0.3, 0.8), 0.5))


def test_sentences_that_decide() -> None:
    assert recommend(decision("M7", (Estimate(0.5, 0.3, 0.8), 0.4), examples=300)) == "about 900 more sentences"
    two = decision("M7", (Estimate(0.5, 0.3, 0.8), 0.4), (Estimate(0.5, 0.3, 0.8), 0.35), examples=150)
    assert recommend(two) == "about 450 more sentences"  # the part that requires more
    assert recommend(decision("M7", (Estimate(0.4, 0.3, 0.5), 0.4), examples=300)).startswith("no number of sentences")


def test_a_decided_claim_and_one_that_counts_need_nothing() -> None:
    assert recommend(decision("M7", (Estimate(0.5, 0.45, 0.6), 0.4), examples=300)) == ""
    assert recommend(decision("M7", (Estimate(0.5, 0.3, 0.6), 0.4))) == ""


def test_seeds_that_decide_put_the_threshold_outside_at_the_spread_seen() -> None:
    seen = [0.2, 1.0, 0.3]
    found = estimate_mean(seen)
    assert found.low < 0 < found.high
    enough = seeds_for(found, None, 0.0, 3)
    spread = found.high - found.value

    def half(seeds: int) -> float:
        """Return the half width with as many seeds, by repeating a spread of the same size."""
        from scipy.stats import t

        return spread * 3**0.5 / t.ppf(0.975, 2) * t.ppf(0.975, seeds - 1) / seeds**0.5

    assert half(int(enough)) < 0.5 <= half(int(enough) - 1)
    assert recommend(decision("R2", (found, 0.0), seeds=3)) == f"about {enough - 3:.0f} more seeds"
    half_by_sentences = Estimate(0.5, 0.1, 0.9)
    assert seeds_for(found, half_by_sentences, 0.0, 3) > enough  # sentences leave less room


@pytest.mark.parametrize("runs", [2, 3, 5, 30])
def test_a_detectable_mean_is_found_four_times_in_five(runs: int) -> None:
    spread = numpy.linspace(-1, 1, runs) / numpy.std(numpy.linspace(-1, 1, runs), ddof=1)
    mean = find_detectable(estimate_mean(spread), runs)
    drawn = numpy.random.default_rng(1).normal(mean, 1, (20000, runs))
    assert (ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.01)


def test_one_seed_detects_nothing() -> None:
    assert math.isnan(find_detectable(Estimate(0.5), 1))


def test_one_seed_has_no_interval() -> None:
    assert recommend(decision("R2", (Estimate(0.5), 0.0), seeds=1)) == "about 1 more seed"


SAMPLES, DRAWS = 60, 1200


def shares_decided(effect: float, seeds: int, ratio: float) -> tuple[float, float]:
    """Return how often the interval over runs is above 0 and below 0, of effects that are 0 on average or larger.

    The effect of a training is normal with a standard deviation of `ratio` times the error of one training, half of
    whose variance is in sentences that all trainings share.
    """
    random = numpy.random.default_rng(seeds)
    above_it = below_it = 0
    for _ in range(DRAWS):
        true = effect + ratio * random.normal(size=seeds)
        values = true + (random.normal() + random.normal(size=seeds)) / 2**0.5
        drawn = values[:, None] + (random.normal(size=SAMPLES) + random.normal(size=(seeds, SAMPLES))) / 2**0.5
        found = over_runs(values, drawn)
        above_it += found.low > 0
        below_it += found.high < 0
    return above_it / DRAWS, below_it / DRAWS


@pytest.mark.long
@pytest.mark.parametrize("ratio", [0.0, 1.0, 2.0, 4.0, 8.0])
def test_intervals_over_trainings_are_calibrated_and_gain_from_trainings(ratio: float) -> None:
    """At the threshold at most 5 % are decided; the share decided right grows with the trainings.

    The vote of three seeds decided 17 to 32 % of effects at the threshold, and the fewer the more seeds there were.
    """
    noise = 3 * (0.05 * 0.95 / DRAWS) ** 0.5
    for seeds in (3, 5, 8):
        assert sum(shares_decided(0.0, seeds, ratio)) <= 0.05 + noise
    effect = max(3.0, 1.2 * ratio)  # in errors of one training
    right = [shares_decided(effect, seeds, ratio)[0] for seeds in (3, 5, 8)]
    assert right == sorted(right)
    assert right[-1] > 0.6


def test_a_reading_of_one_run_is_judged_by_its_own_interval() -> None:
    assert decision("M7", (Estimate(0.5, 0.45, 0.6), 0.4)).verdict == HOLDS
    assert decision("M7", (Estimate(0.5, 0.3, 0.6), 0.4)).verdict == UNDECIDED
