"""Quantities of the tables of a task: concentration of importance, areas of curves, removable shares."""

import math
from typing import Any

import numpy
import pandas
import pytest
from headroom.experiments.arms import quantities as arm_quantities
from headroom.experiments.arms.quantities import (
    INPUTS,
    Replicates,
    all_quantities,
    curve_area,
    entropy,
    gini,
    removable_share,
)
from scipy import stats

MAIN = "gradient-example"
LEAD = {"run": "sst2.baseline.seed1", "task": "sst2", "arm": "baseline", "seed": 1, "epoch": 3, "signature": "n:9"}


def curve_rows(values: list[float], **changes: Any) -> list[dict[str, Any]]:
    fixed = LEAD | {
        "scope": "all", "order": "gradient-example", "normalised": "raw", "ranking": "fixed", "draw": 0,
        "heads_total": 4, "set": "test", "metric": "accuracy", "full": 20.0, "chance": 0.0,
    } | changes  # fmt: skip
    return [fixed | {"heads_removed": removed, "value": value} for removed, value in enumerate(values)]


def named(found: list[Replicates]) -> dict[str, float]:
    """Return the value of the only run by statistic, set and metric."""
    return {
        " ".join(filter(None, [one.statistic, one.set, one.metric])): one.by_arm["baseline"].loc[1] for one in found
    }


def test_random_draws_are_averaged_and_orders_named() -> None:
    rows = [
        *curve_rows([20.0, 20, 20, 20, 0], order="random", normalised=""),
        *curve_rows([20.0, 0, 0, 0, 0], order="random", normalised="", draw=1),
        *curve_rows([20.0, 20, 20, 20, 0], normalised="layer", ranking="rescored"),
    ]
    found = named(list(arm_quantities.curve_quantities(pandas.DataFrame(rows), MAIN)))
    assert found == {
        "curve_area_random test accuracy": pytest.approx((0.875 + 0.125) / 2),
        "curve_area_gradient-example.layer.rescored test accuracy": 0.875,
    }


def test_losses_and_single_kinds_have_no_area_and_no_share() -> None:
    rows = pandas.DataFrame(curve_rows([20.0] * 5, metric="loss") + curve_rows([20.0] * 5, scope="E"))
    assert not list(arm_quantities.curve_quantities(rows, MAIN))
    assert not list(arm_quantities.removal_quantities(rows, MAIN))


def test_only_the_main_order_has_a_removable_share() -> None:
    falling = [20.0, 20.0, 0.0, 0.0, 0.0]  # 97 % are left at 0.03 of the next quarter
    rows = [
        *curve_rows(falling),
        *curve_rows(falling, set="far", metric="f1"),
        *curve_rows([20.0] * 5, order="random"),
        *curve_rows([20.0] * 5, normalised="layer"),
        *curve_rows([20.0] * 5, ranking="rescored"),
        *curve_rows([20.0] * 5, epoch=2),
    ]
    found = named(list(arm_quantities.removal_quantities(pandas.DataFrame(rows), MAIN)))
    assert found == {"removable_share_mean test accuracy": 0.2575, "removable_share_mean far f1": 0.2575}


def test_every_measure_of_diversity_is_taken() -> None:
    rows = [LEAD | {"measure": measure, "value": value} for measure, value in (("z_cka", 0.2), ("particle_step", 0.6))]
    found = list(arm_quantities.diversity_quantities(pandas.DataFrame(rows)))
    assert named(found) == {"diversity_mean_z_cka": 0.2, "diversity_mean_particle_step": 0.6}
    assert [one.difference for one in found] == ["diversity_difference_z_cka", "diversity_difference_particle_step"]


def test_the_interval_of_a_single_run_is_kept() -> None:
    row = LEAD | {"set": "test", "metric": "f1", "value": 80.0, "low": 78.0, "high": 83.0}
    (alone,) = arm_quantities.evaluation_quantities(pandas.DataFrame([row]))
    assert alone.within_run == {"baseline": (78, 83)}
    rows = [row, row | {"run": "sst2.baseline.seed2", "seed": 2}]
    (both,) = arm_quantities.evaluation_quantities(pandas.DataFrame(rows))
    assert both.within_run == {}


def test_tables_without_rows_have_no_quantities() -> None:
    empty = {name: pandas.DataFrame(columns=[*table.names, "task", "arm", "seed"]) for name, table in INPUTS.items()}
    assert not list(all_quantities(empty, MAIN))


SCORES = numpy.random.default_rng(3).pareto(1.2, 40)


def test_gini_is_that_of_all_pairs() -> None:
    pairs = numpy.abs(SCORES[:, None] - SCORES[None, :]).sum()
    assert gini(SCORES) == pytest.approx(pairs / (2 * 40**2 * SCORES.mean()))


def test_entropy_is_that_of_another_implementation() -> None:
    assert entropy(SCORES) == pytest.approx(stats.entropy(SCORES, base=40))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_equal_heads_and_one_head_with_everything(scale: float) -> None:
    equal, one = numpy.full(8, scale), numpy.eye(8)[3] * scale
    assert gini(equal) == pytest.approx(0, abs=1e-12)
    assert entropy(equal) == pytest.approx(1)
    assert gini(one) == pytest.approx(7 / 8)
    assert (entropy(one), math.copysign(1, entropy(one))) == (0, 1)


def test_negative_scores_count_as_nothing() -> None:
    assert gini(numpy.array([-3.0, 1.0, 2.0, 5.0])) == gini(numpy.array([0.0, 1.0, 2.0, 5.0]))
    assert entropy(numpy.array([-3.0, 1.0, 1.0])) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("scores", [[], [0.0, 0.0], [-1.0, 0.0], [numpy.nan, 1.0]])
def test_without_importance_there_is_no_concentration(scores: list[float]) -> None:
    assert math.isnan(gini(numpy.array(scores)))
    assert math.isnan(entropy(numpy.array(scores)))


def test_a_single_head_has_no_entropy_to_speak_of() -> None:
    assert gini(numpy.array([2.0])) == 0
    assert math.isnan(entropy(numpy.array([2.0])))


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
