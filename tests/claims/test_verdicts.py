"""A verdict is what an interval says: of one run, of several, and in every shipped table."""

import math
from pathlib import Path

import numpy
import pytest
from headroom.claims.table import CLAIMS
from headroom.claims.verdict import (
    FAILS,
    HOLDS,
    NOT_COMPARABLE,
    NOT_RUN,
    OF_ONE_MODEL,
    UNDECIDED,
    Condition,
    Number,
    Reading,
    above,
    below,
    pool,
)
from headroom.core.statistics import Estimate, over_runs
from headroom.report.reference import list_shipped

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("asked", "low", "high", "verdict"),
    [
        (above(0.5), 0.51, 0.6, HOLDS),
        (above(0.5), 0.4, 0.49, FAILS),
        (above(0.5), 0.5, 0.6, UNDECIDED),
        (below(0.5), 0.4, 0.49, HOLDS),
        (below(0.5), 0.51, 0.6, FAILS),
        (below(0.5), math.nan, math.nan, UNDECIDED),
        (below(0.0, refuted=-0.1), -0.3, -0.05, HOLDS),
        (below(0.0, refuted=-0.1), -0.05, 0.2, FAILS),  # there may be none, and it is surely too small to matter
        (below(0.0, refuted=-0.1), -0.05, -0.01, FAILS),  # there is one, too small to matter
        (below(0.0, refuted=-0.1), -0.3, 0.2, UNDECIDED),
        (above(0.9, refuted=-math.inf), 0.1, 0.2, UNDECIDED),  # this model cannot refute it
    ],
)
def test_an_interval_is_held_against_a_threshold(asked: Condition, low: float, high: float, verdict: str) -> None:
    assert asked.verdict(Estimate((low + high) / 2, low, high)) == verdict


def test_a_claim_holds_if_all_that_is_asked_does() -> None:
    good, bad, wide = (Number("n", Estimate(1.0, *ends), asked=above(0.0)) for ends in ((1, 2), (-2, -1), (-1, 1)))
    unasked = Number("unasked", Estimate(5.0))
    assert Reading((good, good, unasked)).verdict == HOLDS
    assert Reading((good, wide)).verdict == UNDECIDED
    assert Reading((good, wide)).deciding is wide
    assert Reading((wide, bad)).verdict == FAILS
    assert Reading((wide, bad)).deciding is bad
    assert Reading((unasked,)).verdict == UNDECIDED
    assert Reading((good,), barrier="48 heads: it has 12").verdict == NOT_COMPARABLE


def of_run(seed: int, value: float, sentences: numpy.ndarray | None = None, **more: object) -> Reading:
    ends = (value - 1, value + 1) if sentences is None else numpy.quantile(value + sentences, (0.025, 0.975))
    number = Number(
        "n", Estimate(value, *ends), asked=above(0.0), resampled=None if sentences is None else value + sentences
    )
    return Reading((number,), f"translation.baseline.seed{seed}", **more)


def test_several_runs_are_judged_by_the_interval_of_their_mean() -> None:
    """Votes would decide here: one run holds, and the others are undecided or contradict it."""
    sentences = numpy.random.default_rng(0).normal(0, 0.5, 400)
    readings = [of_run(seed, value, sentences) for seed, value in enumerate((3.0, 4.0, 5.0), 1)]
    whole = pool(readings)
    assert whole is not None
    (number,) = whole.numbers
    assert number.found == over_runs([3.0, 4.0, 5.0], [3.0 + sentences, 4.0 + sentences, 5.0 + sentences])
    assert number.these is not None
    assert number.these == pytest.approx((4.0, *numpy.quantile(4.0 + sentences, (0.025, 0.975))))
    assert number.found.low < number.these.low < number.these.high < number.found.high
    assert (whole.verdict, whole.runs) == (HOLDS, tuple(one.run for one in readings))
    apart = pool([of_run(seed, value, sentences) for seed, value in enumerate((9.0, 2.0, 2.0), 1)])
    assert apart is not None
    assert apart.verdict == UNDECIDED  # though each of the runs is above the threshold


def test_runs_that_lack_a_precondition_are_left_out() -> None:
    runs = [of_run(1, 4.0), of_run(2, 4.1), of_run(3, -9.0, barrier="48 heads: it has 12")]
    whole = pool(runs)
    assert whole is not None
    assert whole.runs == (runs[0].run, runs[1].run)
    half = pool(runs[1:])
    assert half is not None
    assert half.verdict == NOT_COMPARABLE  # half of the runs are too few


@pytest.mark.parametrize("place", list_shipped(ROOT / "reports" / "reference"), ids=lambda place: place.name)
def test_no_shipped_verdict_contradicts_its_interval(place: Path) -> None:
    for row in CLAIMS.read(place / "claims.csv").itertuples():
        found = Estimate(row.value, row.low, row.high)
        if row.verdict in (NOT_COMPARABLE, NOT_RUN):
            assert bool(row.barrier) == (row.verdict == NOT_COMPARABLE), row
        elif row.side:
            said = Condition(row.threshold, row.side, row.refuted).verdict(found)
            assert row.verdict in (said, OF_ONE_MODEL.get(said)), row
            assert row.seeds > 1 or row.verdict != said or said == UNDECIDED or row.claim in ("M10", "M11", "R6"), row
        else:
            assert row.verdict == UNDECIDED, row
