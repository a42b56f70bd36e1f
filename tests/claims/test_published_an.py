"""The published gains of repulsive attention, through the rule of R2, say what the paper says.

No other number of the paper is known here: its tables could not be read.
"""

from pathlib import Path

import numpy
import pytest
from claims.test_an import losses
from headroom.claims.entries import all_claims, read_papers
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, above
from headroom.core.statistics import estimate_mean
from tables import scored, study

BLEU = next(paper for paper in read_papers() if paper.claims[0].id == "R1").values["bleu"]


@pytest.mark.parametrize(("baseline", "repulsive"), BLEU.values(), ids=BLEU)
def test_published_gains_are_beyond_the_threshold(baseline: float, repulsive: float, tmp_path: Path) -> None:
    rows = scored(baseline=[baseline], svgd=[repulsive])
    (found,) = evaluate(study(tmp_path, evaluation=rows, training=losses(rows)), [all_claims()["R2"]])
    assert found.whole is not None
    (gain,) = found.whole.asked
    assert gain.asked is not None
    assert gain.found.value > gain.asked.threshold
    assert found.verdict == UNDECIDED  # the paper has one training of each, and no interval


@pytest.mark.parametrize("spread", [0.41, 1.2])
def test_a_gain_of_the_published_size_is_hardly_ever_refuted(spread: float) -> None:
    """The spreads are those of the differences of three seeds in the shipped study of repulsion."""
    smallest = min(repulsive - baseline for baseline, repulsive in BLEU.values())
    seeds = numpy.random.default_rng(1).normal(smallest, spread, size=(1000, 3))
    found = [above(0.0).verdict(estimate_mean(differences)) for differences in seeds]
    assert found.count(FAILS) <= 0.05 * len(found)
    assert found.count(HOLDS) > found.count(FAILS)
