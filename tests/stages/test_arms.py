"""Comparison of arms, from small tables whose numbers are known."""

import math
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.core.errors import HeadroomError
from headroom.experiments.arms import stage as arms_stage
from headroom.experiments.arms.quantities import INPUTS
from headroom.experiments.arms.table import ARMS
from written_tables import write_rows

Rows = list[dict[str, Any]]
TRANSLATION = {"translation": ["baseline", "svgd"]}
BLEU = {("baseline", 1): 30.0, ("baseline", 2): 32.0, ("svgd", 1): 31.0, ("svgd", 2): 35.0}


def name(arm: str, seed: int, task: str = "translation") -> str:
    return f"{task}.{arm}.seed{seed}"


def evaluation(arm: str, seed: int, *, epoch: int = 8, shift: float = 0.0, task: str = "translation") -> Rows:
    value = BLEU[arm, seed] + shift
    fixed = {"low": value - 1, "high": value + 1, "decoding": "beam5", "signature": "beam:5"}
    return [{"run": name(arm, seed, task), "epoch": epoch, "set": "test", "metric": "bleu", "value": value} | fixed]


def curve(arm: str, seed: int, values: list[float], **changes: Any) -> Rows:
    fixed = {
        "run": name(arm, seed), "epoch": 8, "scope": "all", "order": "gradient-example", "normalised": "raw",
        "ranking": "fixed", "draw": 0, "heads_total": 4, "set": "test", "metric": "bleu",
        "full": 20.0, "chance": 0.0, "signature": "beam:1",
    } | changes  # fmt: skip
    return [fixed | {"heads_removed": removed, "value": value} for removed, value in enumerate(values)]


def scores(arm: str, seed: int, values: list[float], **changes: Any) -> Rows:
    fixed = {
        "run": name(arm, seed), "epoch": 8, "kind": "E", "layer": 1, "criterion": "gradient-example",
        "normalised": "raw", "signature": "set:choose",
    } | changes  # fmt: skip
    return [fixed | {"head": 1 + place, "value": value} for place, value in enumerate(values)]


def diversity(arm: str, seed: int, values: list[float]) -> Rows:
    fixed = {"run": name(arm, seed), "epoch": 8, "measure": "z_cosine", "signature": "set:choose"}
    return [fixed | {"kind": "E", "layer": 1 + place, "value": value} for place, value in enumerate(values)]


def training(arm: str, seed: int, **measures: list[float]) -> Rows:
    fixed = {"run": name(arm, seed), "signature": f"seed:{seed}|arm:{arm}|max-tokens:9"}
    return [
        fixed | {"epoch": epoch, "measure": measure, "value": value}
        for measure, values in measures.items()
        for epoch, value in enumerate(values, start=1)
    ]


def compared(tmp_path: Path, arms: dict[str, list[str]] = TRANSLATION, **given: list[Rows]) -> pandas.DataFrame:
    arguments = ["--study", "tiny", "--output", str(tmp_path / "arms.csv")]
    for task, own in arms.items():
        arguments += ["--arms", task, *own]
    for table, runs in given.items():
        arguments.append(f"--{table}")
        for place, rows in enumerate(runs):
            path = tmp_path / table / f"{place}.csv"
            write_rows(INPUTS[table], path, rows)
            arguments.append(str(path))
    arms_stage.main(arguments)
    return ARMS.read(tmp_path / "arms.csv")


def one(table: pandas.DataFrame, statistic: str, arm: str = "svgd", **where: str) -> "pandas.Series[Any]":
    for column, wanted in ({"statistic": statistic, "arm": arm} | where).items():
        table = table[table[column] == wanted]
    assert len(table) == 1
    return table.iloc[0]


def value(table: pandas.DataFrame, statistic: str, arm: str = "svgd", **where: str) -> float:
    return float(one(table, statistic, arm, **where)["value"])


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
    assert float(difference["value"]) == 1
    assert difference[["low", "p"]].isna().all()


def test_only_common_seeds_are_paired(tmp_path: Path) -> None:
    keys = [("baseline", 1), ("baseline", 2), ("svgd", 2)]
    difference = one(compared(tmp_path, evaluation=[evaluation(*key) for key in keys]), "metric_difference")
    assert (float(difference["value"]), str(difference["seeds"])) == (3, "2")


def test_only_the_last_epoch_counts(tmp_path: Path) -> None:
    rows = [evaluation(*key) + evaluation(*key, epoch=1, shift=-9) for key in BLEU]
    assert value(compared(tmp_path, evaluation=rows), "metric_mean", "baseline") == 31


def test_every_task_is_compared_with_its_own_first_arm(tmp_path: Path) -> None:
    arms = {"translation": ["baseline", "svgd"], "entailment": ["svgd", "baseline"]}
    rows = [evaluation(*key) for key in BLEU]
    rows += [evaluation(*key, shift=40, epoch=3, task="entailment") for key in BLEU]
    table = compared(tmp_path, arms, evaluation=rows)
    assert table["task"].drop_duplicates().tolist() == ["translation", "entailment"]
    assert value(table, "metric_mean", "baseline", task="translation") == 31
    assert value(table, "metric_mean", "baseline", task="entailment") == 71
    assert value(table, "metric_difference", "svgd", task="translation") == 2
    assert value(table, "metric_difference", "baseline", task="entailment") == -2
    assert one(table, "metric_difference", "baseline", task="entailment")["baseline"] == "svgd"
    assert set(table["study"]) == {"tiny"}


def test_areas_of_curves(tmp_path: Path) -> None:
    straight = [20.0, 15, 10, 5, 0]
    flat = [20.0, 20, 20, 20, 0]
    table = compared(tmp_path, curves=[curve("baseline", 1, straight), curve("svgd", 1, flat)])
    assert value(table, "curve_area", "baseline") == pytest.approx(0.5)
    assert value(table, "curve_area") == pytest.approx(0.875)
    assert value(table, "curve_area_difference") == pytest.approx(0.375)


def test_shares_of_heads_that_can_go(tmp_path: Path) -> None:
    runs = {("baseline", 1): 1, ("baseline", 2): 2, ("svgd", 1): 2, ("svgd", 2): 4}
    rows = [curve(*key, [20.0] * (fine + 1) + [0.0] * (4 - fine)) for key, fine in runs.items()]
    table = compared(tmp_path, curves=rows)
    assert value(table, "removable_share_mean", "baseline", set="test", metric="bleu") == pytest.approx(
        1.52 / 4
    )  # 2 % of the way down
    difference = one(table, "removable_share_difference")
    # a quarter and a half less 0.005 more: mean 0.3725, standard error 0.1225
    assert float(difference["value"]) == pytest.approx(0.3725)
    assert float(difference["high"]) == pytest.approx(0.3725 + 12.7062 * 0.1225, abs=1e-4)
    assert difference["signature"] == "beam:1|interval:t-seeds"


def test_a_model_that_scores_nothing_is_left_out(tmp_path: Path) -> None:
    """BLEU of a model trained too little is 0: shares of it are undefined."""
    runs = [curve("baseline", 1, [0.0] * 5, full=0.0), curve("baseline", 2, [20.0] * 5), curve("svgd", 1, [20.0] * 5)]
    table = compared(tmp_path, curves=runs)
    mean = one(table, "removable_share_mean", "baseline")
    assert (float(mean["value"]), str(mean["seeds"])) == (1, "2")
    assert "removable_share_difference" not in set(table["statistic"])  # no seed is left to pair
    assert set(table["seeds"].astype(str)) == {"1", "2"}


def test_concentration_of_importance(tmp_path: Path) -> None:
    rows = [
        scores("baseline", 1, [1.0, 1, 1, 1]) + scores("baseline", 1, [9.0, 0, 0, 0], epoch=7),
        scores("svgd", 1, [3.0, 0, 0, 0]) + scores("svgd", 1, [1.0, 1, 1, 1], criterion="gradient-token"),
    ]
    table = compared(tmp_path, scores=rows)
    assert value(table, "importance_gini_mean", "baseline") == 0
    assert value(table, "importance_gini_mean") == pytest.approx(3 / 4)
    assert value(table, "importance_entropy_mean", "baseline") == pytest.approx(1)
    assert value(table, "importance_entropy_difference") == pytest.approx(-1)
    assert one(table, "importance_gini_difference")["signature"] == "set:choose|interval:none"


def test_diversity_is_averaged_over_sites(tmp_path: Path) -> None:
    rows = [diversity("baseline", 1, [0.5, 0.7]), diversity("svgd", 1, [0.1, 0.3])]
    table = compared(tmp_path, diversity=rows)
    assert value(table, "diversity_mean_z_cosine") == pytest.approx(0.2)
    assert value(table, "diversity_difference_z_cosine") == pytest.approx(-0.4)


def test_norms_of_gradients_are_averaged_over_epochs(tmp_path: Path) -> None:
    rows = [
        training("baseline", 1, head_gradient_norm=[1.0, 3.0], train_loss=[5.0, 4.0]),
        training("svgd", 1, head_gradient_norm=[4.0, 8.0], plain_head_gradient_norm=[1.0, 2.0]),
        training("svgd", 2, head_gradient_norm=[9.0, 9.0]),
    ]
    table = compared(tmp_path, training=rows)
    assert value(table, "head_gradient_norm_mean", "baseline") == 2
    assert value(table, "head_gradient_norm_mean") == 7.5
    assert value(table, "head_gradient_norm_difference") == 4  # of seed 1, which both have
    about = one(table, "head_gradient_norm_difference")["signature"]
    assert about == "seed:1,2|arm:baseline,svgd|max-tokens:9|interval:none"
    assert value(table, "plain_head_gradient_norm_mean") == 1.5
    assert set(table["statistic"]) == {
        "head_gradient_norm_mean", "head_gradient_norm_difference", "plain_head_gradient_norm_mean",
    }  # fmt: skip


def test_a_run_of_no_known_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"run 'sst2.svgd.seed1': unknown task; expected one of translation"):
        compared(tmp_path, evaluation=[evaluation("svgd", 1, task="sst2")])
