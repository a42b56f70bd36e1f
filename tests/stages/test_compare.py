"""Comparison of arms, from small tables whose numbers are known."""

import math
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from headroom import compare
from headroom.ground.errors import HeadroomError
from headroom.ground.tables import read_table, write_table

Rows = list[dict[str, Any]]
ARMS = ["baseline", "svgd"]
BLEU = {("baseline", 1): 30.0, ("baseline", 2): 32.0, ("svgd", 1): 31.0, ("svgd", 2): 35.0}


def name(arm: str, seed: int) -> str:
    return f"translation.{arm}.seed{seed}"


def evaluation(arm: str, seed: int, *, epoch: int = 8, shift: float = 0.0) -> Rows:
    value = BLEU[arm, seed] + shift
    fixed = {"low": value - 1, "high": value + 1, "decoding": "beam5", "signature": "beam:5"}
    return [{"run": name(arm, seed), "epoch": epoch, "set": "test", "metric": "bleu", "value": value} | fixed]


def curve(arm: str, seed: int, values: list[float], **changes: Any) -> Rows:
    fixed = {
        "run": name(arm, seed), "epoch": 8, "scope": "all", "order": "gradient-example", "normalised": "raw",
        "ranking": "fixed", "draw": 0, "heads_total": 4, "set": "test", "metric": "bleu",
        "full": 20.0, "signature": "beam:1",
    } | changes  # fmt: skip
    return [fixed | {"heads_removed": removed, "value": value} for removed, value in enumerate(values)]


def diversity(arm: str, seed: int, values: list[float]) -> Rows:
    fixed = {"run": name(arm, seed), "epoch": 8, "measure": "z_cosine", "signature": "set:choose"}
    return [fixed | {"kind": "E", "layer": 1 + place, "value": value} for place, value in enumerate(values)]


def compared(tmp_path: Path, arms: list[str] = ARMS, **tables: list[Rows]) -> pandas.DataFrame:
    arguments = ["--study", "tiny", "--arms", *arms, "--output", str(tmp_path / "repulsion.csv")]
    for table, runs in tables.items():
        arguments.append(f"--{table}")
        for place, rows in enumerate(runs):
            path = tmp_path / table / f"{place}.csv"
            write_table(path, rows, list(rows[0]))
            arguments.append(str(path))
    compare.main(arguments)
    return read_table(tmp_path / "repulsion.csv", compare.COLUMNS)


def one(table: pandas.DataFrame, statistic: str, arm: str = "svgd") -> "pandas.Series[Any]":
    rows = table[(table["statistic"] == statistic) & (table["arm"] == arm)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_means_and_paired_differences_worked_by_hand(tmp_path: Path) -> None:
    table = compared(tmp_path, evaluation=[evaluation(*key) for key in BLEU])
    assert one(table, "metric_mean", "baseline")["value"] == 31
    difference = one(table, "metric_difference")
    # differences 1 and 3: mean 2, standard error 1, t(1 df, 0.975) = 12.7062, p = 2 * atan(1/2) / pi
    assert float(difference["value"]) == 2
    assert float(difference["low"]) == pytest.approx(2 - 12.7062, abs=1e-4)
    assert float(difference["high"]) == pytest.approx(2 + 12.7062, abs=1e-4)
    assert float(difference["p"]) == pytest.approx(2 * math.atan(0.5) / math.pi)
    assert (difference["baseline"], difference["seeds"]) == ("baseline", "1 2")
    assert difference["signature"] == "beam:5|interval:t-seeds"


def test_one_seed_has_the_interval_over_sentences_and_no_test(tmp_path: Path) -> None:
    table = compared(tmp_path, evaluation=[evaluation("baseline", 1), evaluation("svgd", 1)])
    mean = one(table, "metric_mean")
    assert (float(mean["low"]), float(mean["high"])) == (30, 32)
    assert mean["signature"] == "beam:5|interval:bootstrap-sentences"
    difference = one(table, "metric_difference")
    assert (float(difference["value"]), difference["low"], difference["p"]) == (1, "", "")


def test_only_common_seeds_are_paired(tmp_path: Path) -> None:
    keys = [("baseline", 1), ("baseline", 2), ("svgd", 2)]
    difference = one(compared(tmp_path, evaluation=[evaluation(*key) for key in keys]), "metric_difference")
    assert (float(difference["value"]), str(difference["seeds"])) == (3, "2")


def test_only_the_last_epoch_counts(tmp_path: Path) -> None:
    rows = [evaluation(*key) + evaluation(*key, epoch=1, shift=-9) for key in BLEU]
    assert one(compared(tmp_path, evaluation=rows), "metric_mean", "baseline")["value"] == 31


def test_curve_area_worked_by_hand(tmp_path: Path) -> None:
    straight = [20.0, 15, 10, 5, 0]
    flat = [20.0, 20, 20, 20, 0]
    table = compared(tmp_path, curves=[curve("baseline", 1, straight), curve("svgd", 1, flat)])
    assert float(one(table, "curve_area", "baseline")["value"]) == pytest.approx(0.5)
    assert float(one(table, "curve_area")["value"]) == pytest.approx(0.875)
    assert float(one(table, "curve_area_difference")["value"]) == pytest.approx(0.375)


def test_a_curve_that_stops_early_or_starts_late_is_a_share_of_what_it_covers() -> None:
    rows = pandas.DataFrame({"heads_removed": [1, 2], "heads_total": 4, "value": [20.0, 10.0], "full": 20.0})
    assert compare.curve_area(rows) == pytest.approx((0.25 + 0.25 * 0.75) / 0.5)


def test_random_draws_are_averaged_and_orders_named(tmp_path: Path) -> None:
    draws = curve("baseline", 1, [20.0] * 5, order="random", normalised="") + curve(
        "baseline", 1, [20.0, 0, 0, 0, 0], order="random", normalised="", draw=1
    )
    variants = curve("baseline", 1, [20.0] * 5, normalised="layer", ranking="rescored")
    table = compared(tmp_path, ["baseline"], curves=[draws + variants])
    assert float(one(table, "curve_area_random", "baseline")["value"]) == pytest.approx((1 + 0.125) / 2)
    assert float(one(table, "curve_area_gradient-example.layer.rescored", "baseline")["value"]) == 1


def test_losses_and_single_kinds_have_no_curve_area(tmp_path: Path) -> None:
    rows = curve("baseline", 1, [20.0] * 5)
    others = curve("baseline", 1, [20.0] * 5, metric="loss") + curve("baseline", 1, [20.0] * 5, scope="E")
    assert len(compared(tmp_path, ["baseline"], curves=[rows + others])) == 1


def test_diversity_is_averaged_over_sites(tmp_path: Path) -> None:
    rows = [diversity("baseline", 1, [0.5, 0.7]), diversity("svgd", 1, [0.1, 0.3])]
    table = compared(tmp_path, diversity=rows)
    assert float(one(table, "diversity_mean_z_cosine")["value"]) == pytest.approx(0.2)
    assert float(one(table, "diversity_difference_z_cosine")["value"]) == pytest.approx(-0.4)


def test_one_arm_has_means_and_no_differences(tmp_path: Path) -> None:
    table = compared(tmp_path, ["baseline"], evaluation=[evaluation("baseline", 1)])
    assert table["statistic"].tolist() == ["metric_mean"]


def test_a_run_of_no_known_arm_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"run 'translation.svgd.seed1' is of none of the arms baseline"):
        compared(tmp_path, ["baseline"], evaluation=[evaluation("svgd", 1)])


def test_intervals_of_equal_values_have_no_width() -> None:
    assert compare.mean_interval(numpy.array([2.0, 2.0])) == (2, 2, 0)
    assert compare.mean_interval(numpy.array([0.0, 0.0])) == (0, 0, 1)
