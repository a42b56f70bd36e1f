"""Areas of curves and shares of heads that can go, worked by hand."""

import math

import pandas
import pytest
from headroom.methods.arm_quantities import above_chance, curve_area, removable_share


def curve(values: list[float], *, full: float = 20.0, removed: list[int] | None = None) -> pandas.DataFrame:
    """Return the curve of a model with four heads."""
    steps = range(len(values)) if removed is None else removed
    return pandas.DataFrame({"heads_removed": steps, "heads_total": 4, "value": values, "full": full})


def test_area_of_a_straight_line_and_of_a_cliff() -> None:
    assert curve_area(curve([20.0, 15, 10, 5, 0])) == pytest.approx(0.5)
    assert curve_area(curve([20.0, 20, 20, 20, 0])) == pytest.approx(0.875)


def test_a_curve_that_stops_early_or_starts_late_is_a_share_of_what_it_covers() -> None:
    assert curve_area(curve([20.0, 10.0], removed=[1, 2])) == pytest.approx((0.25 + 0.25 * 0.75) / 0.5)


def test_steps_come_in_any_order() -> None:
    rows = curve([20.0, 19.9, 10, 5, 0])
    assert curve_area(rows[::-1]) == curve_area(rows)
    assert removable_share(rows[::-1]) == 0.25


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([20.0, 19.9, 19.8, 19.7, 0.0], 0.5),  # 99.5 %, 99 %, 98.5 %
        ([20.0, 19.0, 20.0, 20.0, 20.0], 0.0),  # what comes back after the fall does not count
        ([20.0, 21.0, 19.9, 12.0, 19.9], 0.5),
        ([20.0, 20.0, 20.0, 20.0, 20.0], 1.0),
    ],
)
def test_what_can_be_removed(values: list[float], share: float) -> None:
    assert removable_share(curve(values)) == share


@pytest.mark.parametrize("full", [30.0, 70.0, 13.0, 33.3333333])
def test_exactly_one_percent_may_be_lost(full: float) -> None:
    at_the_bound = float(f"{0.99 * full:.9g}")  # as tables have it
    assert removable_share(curve([full, at_the_bound, 0], full=full)) == 0.25
    assert removable_share(curve([full, 0.9899 * full, 0], full=full)) == 0


def test_a_curve_may_start_with_heads_gone() -> None:
    assert removable_share(curve([19.9, 5.0], removed=[1, 2])) == 0.25
    assert removable_share(curve([5.0, 19.9], removed=[1, 2])) == 0


@pytest.mark.parametrize("full", [0.0, -4.0, 0.99, float("nan")])
def test_a_model_without_a_score_has_no_share(full: float) -> None:
    assert math.isnan(removable_share(curve([full, full, full], full=full)))
    assert math.isnan(curve_area(curve([full, full, full], full=full)))


def of_run(task: str, values: list[float], **names: object) -> pandas.DataFrame:
    fixed = {"task": task, "run": f"{task}.baseline.seed1", "epoch": 3, "set": "test", "metric": "accuracy"}
    return curve(values, full=values[0]).assign(**fixed | names)


def test_chance_is_what_a_classifier_scores_without_heads() -> None:
    rows = pandas.concat([of_run("sst2", [90.0, 80, 50, 50, 50]), of_run("sst2", [90.0, 50, 60, 60, 60], set="far")])
    found = above_chance(rows)
    assert list(found["value"]) == [40, 30, 0, 0, 0, 30, -10, 0, 0, 0]
    assert list(found["full"]) == [40] * 5 + [30] * 5


def test_draws_share_their_chance() -> None:
    rows = pandas.concat([of_run("sst2", [90.0, 80, 50, 50, 52]), of_run("sst2", [90.0, 80, 50, 50, 48])])
    assert set(above_chance(rows)["full"]) == {40}


def test_translations_and_curves_that_keep_heads_stay_as_they_are() -> None:
    for rows in (of_run("translation", [30.0, 20, 2, 1, 1]), of_run("sst2", [90.0, 80, 50])):
        assert above_chance(rows).equals(rows)


def test_a_classifier_at_chance_has_nothing_to_remove() -> None:
    rows = above_chance(of_run("sst2", [50.5, 50, 51, 50, 50]))
    assert math.isnan(removable_share(rows))
    assert math.isnan(curve_area(rows))
