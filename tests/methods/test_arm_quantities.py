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


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_equal_heads_and_one_head_with_everything(scale: float) -> None:
    equal, one = numpy.full(8, scale), numpy.eye(8)[3] * scale
    assert gini(equal) == pytest.approx(0, abs=1e-12)
    assert gini(one) == pytest.approx(7 / 8)


def test_negative_scores_count_as_nothing() -> None:
    assert gini(numpy.array([-3.0, 1.0, 2.0, 5.0])) == gini(numpy.array([0.0, 1.0, 2.0, 5.0]))


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


def test_a_curve_that_stops_early_or_starts_late_is_a_share_of_what_it_covers() -> None:
    assert curve_area(curve([20.0, 10.0], removed=[1, 2])) == pytest.approx((0.25 + 0.25 * 0.75) / 0.5)


def test_steps_come_in_any_order() -> None:
    rows = curve([20.0, 19.9, 10, 5, 0])
    assert curve_area(rows[::-1]) == curve_area(rows)
    assert removable_share(rows[::-1]) == removable_share(rows)


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


@pytest.mark.parametrize(("full", "chance"), [(0.0, 0.0), (0.99, 0.0), (50.5, 50.0), (float("nan"), 0.0)])
def test_a_model_without_a_score_has_no_share(full: float, chance: float) -> None:
    rows = curve([full, full, full], full=full, chance=chance)
    assert math.isnan(removable_share(rows))
    assert math.isnan(curve_area(rows))
