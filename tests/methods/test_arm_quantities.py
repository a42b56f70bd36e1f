"""Quantities of the tables of a task: unevenness of importance, areas of curves, removable shares."""

import math

import numpy
import pandas
import pytest
from headroom.experiments.arms.quantities import curve_area, gini, removable_share

SCORES = numpy.random.default_rng(3).pareto(1.2, 40)


def test_gini_is_that_of_all_pairs() -> None:
    pairs = numpy.abs(SCORES[:, None] - SCORES[None, :]).sum()
    assert gini(SCORES) == pytest.approx(pairs / (2 * 40**2 * SCORES.mean()))


@pytest.mark.parametrize("scores", [[], [0.0, 0.0], [-1.0, 0.0], [numpy.nan, 1.0]])
def test_without_importance_there_is_no_unevenness(scores: list[float]) -> None:
    assert math.isnan(gini(numpy.array(scores)))


def curve(
    values: list[float],
    *,
    full: float = 20.0,
    removed: list[int] | None = None,
    chance: float = 0.0,
    task: str = "sst2",
) -> pandas.DataFrame:
    """Return the curve of a model with four heads."""
    steps = range(len(values)) if removed is None else removed
    metric = "bleu" if task == "translation" else "accuracy"
    columns = {"task": task, "metric": metric, "heads_removed": steps, "heads_total": 4, "value": values}
    return pandas.DataFrame(columns | {"full": full, "chance": chance})


def test_area_of_a_straight_line_and_of_a_cliff() -> None:
    assert curve_area(curve([20.0, 15, 10, 5, 0])) == pytest.approx(0.5)
    assert curve_area(curve([20.0, 20, 20, 20, 0])) == pytest.approx(0.875)


@pytest.mark.parametrize(
    ("task", "values", "share"),
    [
        ("translation", [20.0, 19.6, 0.0, 0.0, 0.0], 0.25),  # 98 % are left of a quarter less
        ("translation", [20.0, 19.4, 0.0, 0.0, 0.0], 0.25 * 0.4 / 0.6),  # 97 %
        ("sst2", [20.0, 19.4, 0.0, 0.0, 0.0], 0.25),
        ("translation", [20.0, 19.0, 20.2, 20.0, 0.0], 0.75 + 0.25 * (59.2 / 3 - 19.6) / (59.2 / 3)),
        ("translation", [20.0] * 5, 1.0),
    ],
)
def test_what_can_be_removed(task: str, values: list[float], share: float) -> None:
    assert removable_share(curve(values, task=task)) == pytest.approx(share)


def test_shares_of_a_classifier_begin_at_chance() -> None:
    rows = curve([90.0, 80, 50, 50, 50], full=90.0, chance=50.0)
    assert curve_area(rows) == pytest.approx(0.25 * (0.5 + 0.75 + 0))
    assert removable_share(rows) == pytest.approx(0.25 * 0.03 / 0.25)
