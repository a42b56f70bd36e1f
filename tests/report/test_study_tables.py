"""Loading of a study's tables."""

from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.report.study_tables import TABLES, StudyTables, arm_of, seed_of, task_of
from report.claim_tables import CLASSIFIER, OTHER_RUN, RUN, study
from report.example_tables import ALL_TASKS, NOT_SHOWN, TRANSLATION_RUNS, write_example_study


def test_tables_hold_the_rows_of_all_runs(example_tables: StudyTables) -> None:
    assert example_tables.runs == [*TRANSLATION_RUNS, "sst2.baseline.seed1", "cola.baseline.seed1"]
    assert example_tables.arm_names == ["baseline", "svgd"]
    assert set(example_tables.scores["run"]) == set(example_tables.runs)
    assert all(example_tables.has(name) for name in TABLES if name not in NOT_SHOWN)


def test_empty_cells_are_missing_numbers_and_empty_texts(example_tables: StudyTables) -> None:
    pearson = example_tables.agreement[example_tables.agreement["statistic"] == "pearson"]
    assert pearson["k"].isna().all()
    reverse = example_tables.pruning[example_tables.pruning["order"] == "reverse"]
    assert set(reverse["normalised"]) == {""}
    assert set(example_tables.pruning.loc[example_tables.pruning["heads_removed"] == 0, "removed"]) == {""}
    assert set(example_tables.keep_one["chosen_on"]) == {"", "choose", "test", "choose test"}
    bleu = example_tables.ablation[example_tables.ablation["metric"] == "bleu"]
    assert bleu["p_mcnemar"].isna().all()


def test_an_experiment_that_was_not_run_is_an_empty_table_with_its_columns() -> None:
    tables = StudyTables()
    for name, table in TABLES.items():
        assert tuple(tables.frame(name).columns) == table.names
        assert not tables.has(name)
    assert tables.runs == []


def test_positions_and_settings_are_written_alike_in_every_table(tmp_path: Path) -> None:
    roles = study(tmp_path / "1", roles=[{"target": target} for target in ("-1", "+1", "0")]).roles
    assert list(roles["target"]) == ["-1", "+1", "0"]  # a file with nothing but positions reads as whole numbers
    gates = study(tmp_path / "2", gates=[{"setting": value} for value in (0.5, 1, 0.003, "")]).gates
    assert list(gates["setting"]) == ["0.5", "1", "0.003", ""]


def test_an_unknown_path_is_an_error() -> None:
    with pytest.raises(HeadroomError, match="is no table of a study"):
        StudyTables(["results/starter/nonsense/run.csv"])


@pytest.mark.parametrize("name", ["arms", "scores"])
def test_a_study_may_be_called_as_a_table_is(name: str, tmp_path: Path) -> None:
    written = write_example_study(tmp_path, only=("update_cost", "scores"))
    (tmp_path / name).mkdir(exist_ok=True)
    cost = next(path for path in written if path.stem == "update_cost").rename(tmp_path / name / "update_cost.csv")
    found = StudyTables([cost])
    assert found.has("update_cost")
    assert not found.has(name)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write_example_study(tmp_path, only=("update_cost",))[0]
    path.write_text("study,arm\nexample,svgd\n", encoding="utf-8")
    with pytest.raises(HeadroomError, match="the column 'repeat' is missing"):
        StudyTables([path]).update_cost  # noqa: B018


def test_names_of_runs() -> None:
    assert (arm_of("translation.svgd.seed12"), seed_of("translation.svgd.seed12")) == ("svgd", 12)
    assert (arm_of("run"), seed_of("run")) == ("run", 0)
    assert task_of("sst2.baseline.seed3") == "sst2"


def test_a_view_has_the_rows_of_one_task(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=("evaluation", "arms"), tasks=("sst2", "translation"))
    tables = StudyTables(paths)
    assert tables.tasks == ["translation", "sst2"]  # translation first, whatever the order of files
    assert tables.of_task("sst2").runs == ["sst2.baseline.seed1"]
    assert tables.of_task("sst2").tasks == ["sst2"]
    assert tables.of_task("translation").arm_names == ["baseline", "svgd"]
    assert tables.of_task("translation").has("arms")
    assert not tables.of_task("sst2").has("arms")
    assert tables.of_task("sst2") is tables.of_task("sst2")


def test_tables_of_arms_are_parted_by_their_task(tmp_path: Path) -> None:
    runs = [{"run": RUN}, {"run": CLASSIFIER}]
    compared = [{"task": "sst2", "value": 1}, {"task": "translation", "value": 2}, {"task": "sst2", "value": 3}]
    pairs = [
        {"task": "sst2", "run": CLASSIFIER, "other": "sst2.baseline.seed2", "other_arm": "baseline", "value": 0.5},
        {"task": "translation", "run": RUN, "other": OTHER_RUN, "value": 0.25},
    ]
    cost = [{"arm": "svgd", "ratio": 1.1}]
    tables = study(tmp_path, evaluation=runs, arms=compared, overlap=pairs, update_cost=cost)
    of_sst2, of_translation = tables.of_task("sst2"), tables.of_task("translation")
    assert list(of_sst2.arms["value"]) == [1, 3]
    assert list(of_translation.arms["value"]) == [2]
    assert list(of_sst2.overlap["other"]) == ["sst2.baseline.seed2"]
    assert list(of_sst2.overlap["other_arm"]) == ["baseline"]
    assert list(of_translation.overlap["value"]) == [0.25]
    assert list(of_translation.update_cost["ratio"]) == [1.1]
    assert not of_sst2.has("update_cost")


def test_columns_of_arms_are_texts_and_numbers(tmp_path: Path) -> None:
    row = {"task": "sst2", "criterion": "gradient-example", "share": 0.25, "kept": 6, "chance": 0.25}
    overlaps = study(tmp_path, overlap=[row]).overlap
    numbers = {name for name in overlaps.columns if overlaps[name].dtype.kind in "if"}
    assert numbers == {"share", "kept", "value", "chance"}


def test_tasks_of_classification_keep_the_order_of_the_files(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=("evaluation",), tasks=ALL_TASKS[:0:-1])
    assert StudyTables(paths).tasks == ["cola", "sst2"]
