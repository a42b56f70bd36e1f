"""Which quantities there are of the tables of a task, and which rows they are made from."""

from typing import Any

import pandas
import pytest
from headroom.methods import arm_quantities
from headroom.methods.arm_quantities import INPUTS, Replicates, all_quantities

MAIN = "gradient-example"
LEAD = {"run": "sst2.baseline.seed1", "task": "sst2", "arm": "baseline", "seed": 1, "epoch": 3, "signature": "n:9"}


def curve(values: list[float], **changes: Any) -> list[dict[str, Any]]:
    fixed = LEAD | {
        "scope": "all", "order": "gradient-example", "normalised": "raw", "ranking": "fixed", "draw": 0,
        "heads_total": 4, "set": "test", "metric": "accuracy", "full": 20.0,
    } | changes  # fmt: skip
    return [fixed | {"heads_removed": removed, "value": value} for removed, value in enumerate(values)]


def named(found: list[Replicates]) -> dict[str, float]:
    """Return the value of the only run by statistic, set and metric."""
    return {
        " ".join(filter(None, [one.statistic, one.set, one.metric])): one.by_arm["baseline"].loc[1] for one in found
    }


def test_random_draws_are_averaged_and_orders_named() -> None:
    rows = [
        *curve([20.0, 20, 20, 20, 0], order="random", normalised=""),
        *curve([20.0, 0, 0, 0, 0], order="random", normalised="", draw=1),
        *curve([20.0, 20, 20, 20, 0], normalised="layer", ranking="rescored"),
    ]
    found = named(list(arm_quantities.curve_quantities(pandas.DataFrame(rows), MAIN)))
    assert found == {
        "curve_area_random test accuracy": pytest.approx((0.875 + 0.125) / 2),
        "curve_area_gradient-example.layer.rescored test accuracy": 0.875,
    }


def test_losses_and_single_kinds_have_no_area_and_no_share() -> None:
    rows = pandas.DataFrame(curve([20.0] * 5, metric="loss") + curve([20.0] * 5, scope="E"))
    assert not list(arm_quantities.curve_quantities(rows, MAIN))
    assert not list(arm_quantities.removal_quantities(rows, MAIN))


def test_only_the_main_order_has_a_removable_share() -> None:
    falling = [20.0, 20.0, 5.0, 4.0, 3.0]
    rows = [
        *curve(falling),
        *curve(falling, set="far", metric="f1"),
        *curve([20.0] * 5, order="random"),
        *curve([20.0] * 5, normalised="layer"),
        *curve([20.0] * 5, ranking="rescored"),
        *curve([20.0] * 5, epoch=2),
    ]
    found = named(list(arm_quantities.removal_quantities(pandas.DataFrame(rows), MAIN)))
    assert found == {"removable_share_mean test accuracy": 0.25, "removable_share_mean far f1": 0.25}


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
