"""Tables of many runs: names, arms and signatures."""

from pathlib import Path

import pandas
import pytest
from headroom.core.errors import HeadroomError
from headroom.experiments.arms.tables import (
    arms_by_task,
    check_arms,
    joint_signature,
    last_epoch,
    main_criteria,
    main_scores,
    read_runs,
)
from headroom.experiments.training.table import TRAINING
from written_tables import write_rows

COLUMNS = ("run", "epoch", "value")


def written(path: Path, *rows: tuple[str, int, object]) -> Path:
    write_rows(TRAINING, path, [dict(zip(COLUMNS, row)) for row in rows])
    return path


def test_arms_of_several_tasks() -> None:
    given = [["translation", "baseline", "svgd"], ["sst-2", "plain", "spos", "noise"]]
    assert arms_by_task(given) == {"translation": ["baseline", "svgd"], "sst-2": ["plain", "spos", "noise"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [([["sst2"]], r"--arms sst2: name the arms"), ([["sst2", "a"], ["sst2", "b"]], r"--arms sst2: .* given twice")],
)
def test_arms_that_make_no_sense_are_refused(given: list[list[str]], message: str) -> None:
    with pytest.raises(HeadroomError, match=message):
        arms_by_task(given)


def test_runs_are_stacked_with_what_their_names_tell(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / "1.csv", ("translation.svgd.seed12", 8, 0.5)),
        written(tmp_path / "2.csv"),
        written(tmp_path / "3.csv", ("sst-2.repulsion-only.seed3", 2, "")),
    ]
    table = read_runs(paths, TRAINING)
    assert list(table["task"]) == ["translation", "sst-2"]
    assert list(table["arm"]) == ["svgd", "repulsion-only"]
    assert list(table["seed"]) == [12, 3]
    assert table["value"].iloc[0] == 0.5
    assert table["value"].isna().tolist() == [False, True]


def test_nothing_to_read_is_an_empty_table() -> None:
    table = read_runs([], TRAINING)
    assert list(table.columns) == [*TRAINING.names, "task", "arm", "seed"]
    check_arms(table, {})
    assert last_epoch(table).empty


@pytest.mark.parametrize("run", ["translation.svgd", "svgd.seed1", "a.b.c.seed1", "translation.svgd.seedx"])
def test_a_run_of_another_name_is_told(tmp_path: Path, run: str) -> None:
    with pytest.raises(HeadroomError, match=rf"1\.csv: malformed run '{run}'; name it <task>\.<arm>\.seed<number>"):
        read_runs([written(tmp_path / "1.csv", (run, 1, 0))], TRAINING)


def test_a_run_of_no_known_arm_or_task_is_told(tmp_path: Path) -> None:
    table = read_runs([written(tmp_path / "1.csv", ("sst2.svgd.seed1", 1, 0))], TRAINING)
    check_arms(table, {"sst2": ["baseline", "svgd"]})
    with pytest.raises(HeadroomError, match=r"run 'sst2.svgd.seed1': unknown arm of sst2; expected one of baseline"):
        check_arms(table, {"sst2": ["baseline"]})
    with pytest.raises(HeadroomError, match=r"run 'sst2.svgd.seed1': unknown task; expected one of translation"):
        check_arms(table, {"translation": ["baseline", "svgd"]})


def test_every_run_has_a_last_epoch_of_its_own() -> None:
    table = pandas.DataFrame({"run": list("aabb"), "epoch": [1, 2, 4, 3], "value": [1.0, 2.0, 3.0, 4.0]})
    assert list(last_epoch(table)["value"]) == [2, 3]


def test_main_scores_are_raw_and_of_one_criterion() -> None:
    table = pandas.DataFrame(
        {
            "run": "a",
            "epoch": [1, 2, 2, 2],
            "criterion": ["gradient-example", "gradient-example", "gradient-token", "gradient-example"],
            "normalised": ["raw", "raw", "raw", "layer"],
            "value": [1.0, 2.0, 3.0, 4.0],
        }
    )
    assert list(main_scores(table, "gradient-example")["value"]) == [2]
    assert list(main_scores(table, table["run"].map({"a": "gradient-token"}))["value"]) == [3]


def test_every_task_has_its_main_criterion() -> None:
    mains = main_criteria([["sst2", "gradient-token"]])
    assert (mains["sst2"], mains["cola"]) == ("gradient-token", "gradient-example")
    with pytest.raises(HeadroomError, match="--main sst2: the task is given twice"):
        main_criteria([["sst2", "gradient-token"], ["sst2", "gradient-example"]])


@pytest.mark.parametrize(
    ("signatures", "joint"),
    [
        (["set:test|n:9"] * 3, "set:test|n:9"),
        (["seed:1|arm:baseline|n:9", "seed:2|arm:baseline|n:9"], "seed:1,2|arm:baseline|n:9"),
        (["n:9", "alpha:0.1|n:9"], "n:9|alpha:0.1"),
        (["metric:tok:13a,case:mixed|n:9"], "metric:tok:13a,case:mixed|n:9"),
        (["paired over seeds"], "paired over seeds"),
    ],
)
def test_signatures_join_in_what_they_share(signatures: list[str], joint: str) -> None:
    assert joint_signature(signatures) == joint
