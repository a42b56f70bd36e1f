"""Loading of a study's tables."""

from pathlib import Path

import pytest
from headroom.ground.errors import HeadroomError
from headroom.report.study_tables import COLUMNS, StudyTables, arm_of, seed_of
from report.example_tables import RUNS, write_example_study


def test_tables_hold_the_rows_of_all_runs(example_tables: StudyTables) -> None:
    assert example_tables.runs == RUNS
    assert example_tables.arms == ["baseline", "svgd"]
    assert set(example_tables.scores["run"]) == set(RUNS)
    assert all(example_tables.has(name) for name in COLUMNS)


def test_empty_cells_are_missing_numbers_and_empty_texts(example_tables: StudyTables) -> None:
    pearson = example_tables.agreement[example_tables.agreement["statistic"] == "pearson"]
    assert pearson["k"].isna().all()
    reverse = example_tables.curves[example_tables.curves["order"] == "reverse"]
    assert set(reverse["normalised"]) == {""}
    assert set(example_tables.curves.loc[example_tables.curves["heads_removed"] == 0, "removed"]) == {""}
    assert example_tables.keep_one["chosen"].dtype == bool
    assert 0 < example_tables.keep_one["chosen"].sum() < len(example_tables.keep_one)


def test_an_experiment_that_was_not_run_is_an_empty_table_with_its_columns() -> None:
    tables = StudyTables()
    for name, columns in COLUMNS.items():
        assert list(tables.frame(name).columns) == list(columns)
        assert not tables.has(name)
    assert tables.runs == []


def test_an_unknown_path_is_an_error() -> None:
    with pytest.raises(HeadroomError, match="is no table of a study"):
        StudyTables(["results/starter/nonsense/run.csv"])


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write_example_study(tmp_path, only=("update_cost",))[0]
    path.write_text("study,arm\nexample,svgd\n", encoding="utf-8")
    with pytest.raises(HeadroomError, match="the column 'repeat' is missing"):
        StudyTables([path]).update_cost  # noqa: B018


def test_names_of_runs() -> None:
    assert (arm_of("translation.svgd.seed12"), seed_of("translation.svgd.seed12")) == ("svgd", 12)
    assert (arm_of("run"), seed_of("run")) == ("run", 0)
