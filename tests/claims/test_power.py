"""What would decide an undecided claim, worked by hand."""

import math

import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import Decision, factor, needed, seeds_for, wanted
from headroom.claims.verdict import FAILS, HOLDS, Number, Reading, above, all_of, below
from headroom.core.statistics import Estimate, mean_of


def decision(claim: str, *found: tuple[Estimate, float], examples: int = 0, seeds: int = 1) -> Decision:
    """Return a claim with one run whose parts ask whether numbers are above thresholds."""
    verdict = all_of(*(above(*one) for one in found))
    numbers = tuple(Number("x", one) for one, _ in found)
    reading = Reading(verdict, numbers, "r" if examples else "", examples=examples, seeds=seeds)
    return Decision(all_claims()[claim], "translation", (reading,))


def test_a_verdict_knows_what_is_open() -> None:
    near, far = Estimate(0.5, 0.4, 0.6), Estimate(0.9, 0.8, 1.0)
    assert above(near, 0.45).open == ((near, 0.45),)
    assert above(far, 0.5).open == below(far, 0.5).open == ()
    assert all_of(above(far, 0.5), above(near, 0.45)).open == ((near, 0.45),)
    assert all_of(below(far, 0.5), above(near, 0.45)) == FAILS
    assert all_of(above(far, 0.5)) == HOLDS


def test_intervals_shrink_with_the_root_of_the_examples() -> None:
    assert factor(Estimate(0.5, 0.3, 0.8), 0.4) == pytest.approx(4)  # below the value it is 0.2 wide
    assert factor(Estimate(0.5, 0.3, 0.8), 0.6) == pytest.approx(9)
    assert factor(Estimate(0.5, 0.45, 0.8), 0.4) == 1
    assert math.isinf(factor(Estimate(0.5, 0.3, 0.8), 0.5))


def test_sentences_that_decide() -> None:
    one = decision("M7", (Estimate(0.5, 0.3, 0.8), 0.4), examples=300)
    assert wanted(one) == pytest.approx(1200)
    assert needed(one) == "about 900 more sentences"
    two = decision("M7", (Estimate(0.5, 0.3, 0.8), 0.4), (Estimate(0.5, 0.3, 0.8), 0.35), examples=150)
    assert needed(two) == "about 450 more sentences"  # the part that requires more
    assert needed(decision("M7", (Estimate(0.4, 0.3, 0.5), 0.4), examples=300)).startswith("no number of sentences")


def test_a_decided_claim_and_one_that_counts_need_nothing() -> None:
    assert needed(decision("M7", (Estimate(0.5, 0.45, 0.6), 0.4), examples=300)) == ""
    assert needed(decision("M7", (Estimate(0.5, 0.3, 0.6), 0.4))) == ""


def test_seeds_that_decide_put_the_threshold_outside_at_the_spread_seen() -> None:
    seen = [0.2, 1.0, 0.3]
    found = mean_of(seen)
    assert found.low < 0 < found.high
    enough = seeds_for(found, 0.0, 3)
    spread = found.high - found.value

    def half(seeds: int) -> float:
        """Return the half width with as many seeds, by repeating a spread of the same size."""
        from scipy.stats import t

        return spread * 3**0.5 / t.ppf(0.975, 2) * t.ppf(0.975, seeds - 1) / seeds**0.5

    assert half(int(enough)) < 0.5 <= half(int(enough) - 1)
    assert needed(decision("R2", (found, 0.0), seeds=3)) == f"about {enough - 3:.0f} more seeds"


def test_one_seed_has_no_interval() -> None:
    assert needed(decision("R2", (Estimate(0.5), 0.0), seeds=1)) == "about 1 more seed"
