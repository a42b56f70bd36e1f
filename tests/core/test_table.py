"""Tables survive writing and reading, and are written atomically."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.table import Column, Table

TABLE = Table(
    path="things/{run}.csv",
    key=("run",),
    columns=(
        Column("run", "text", "a name"),
        Column("removed", "text", "a profile"),
        Column("heads", "integer", "a number of heads"),
        Column("value", "number", "a number", "s"),
    ),
    about="Things.",
)
ROW: dict[str, Any] = {"run": "a", "removed": "", "heads": 1, "value": 0.5}


def test_rows_survive_with_columns_in_order_and_typed(tmp_path: Path) -> None:
    rows = [{**ROW, "value": 0.1, "removed": "E1:1 D2:3"}, {**ROW, "run": "007", "value": -2.0}]
    TABLE.write(tmp_path / "t.csv", rows)
    assert (tmp_path / "t.csv").read_bytes() == b"run,removed,heads,value\na,E1:1 D2:3,1,0.1\n007,,1,-2\n"
    frame = TABLE.read(tmp_path / "t.csv")
    assert frame["run"].tolist() == ["a", "007"]
    assert frame["removed"].tolist() == ["E1:1 D2:3", ""]
    assert frame["value"].tolist() == [0.1, -2.0]


@pytest.mark.parametrize("text", ['a,"b" \u2028 c\x85 |d:e', "NA", "nan", "+1", "1e3", "True"])
def test_texts_stay_as_they_are(tmp_path: Path, text: str) -> None:
    TABLE.write(tmp_path / "t.csv", [{**ROW, "run": text}])
    assert TABLE.read(tmp_path / "t.csv")["run"].tolist() == [text]


def test_empty_cells_are_not_numbers(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "t.csv", [{**ROW, "value": value, "heads": value} for value in (2, float("nan"), "", None)])
    for name in ("heads", "value"):
        values = TABLE.read(tmp_path / "t.csv")[name].tolist()
        assert values[0] == 2
        assert [math.isnan(value) for value in values] == [False, True, True, True]


def test_files_of_earlier_versions_may_lack_columns_with_a_default(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "t.csv", [ROW])
    added = replace(TABLE, columns=(*TABLE.columns, Column("error", "number", "a number", default="")))
    assert numpy.isnan(added.read(tmp_path / "t.csv")["error"]).all()
    added = replace(TABLE, columns=(*TABLE.columns, Column("way", "text", "a way", default="usual")))
    assert set(added.read(tmp_path / "t.csv")["way"]) == {"usual"}
    added = replace(TABLE, columns=(*TABLE.columns, Column("error", "number", "a number")))
    with pytest.raises(HeadroomError, match="'error' is missing; rerun"):
        added.read(tmp_path / "t.csv")


def test_a_table_without_rows_keeps_its_columns_and_types(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "t.csv", [])
    for frame in (TABLE.read(tmp_path / "t.csv"), TABLE.read_all([])):
        assert tuple(frame.columns) == TABLE.names
        assert [frame[name].dtype.kind in "iuf" for name in TABLE.names] == [False, False, True, True]


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    TABLE.write(path, [ROW, {**ROW, "value": 12.25}])
    path.write_bytes(path.read_bytes()[:-2])  # the last number would be 12.2
    with pytest.raises(HeadroomError, match=r"t\.csv: ends within a line, .*rerun the job"):
        TABLE.read(path)


def test_files_are_read_as_one_without_the_empty_ones(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "1.csv", [ROW])
    TABLE.write(tmp_path / "2.csv", [])
    TABLE.write(tmp_path / "3.csv", [{**ROW, "run": "b"}])
    frame = TABLE.read_all([tmp_path / f"{number}.csv" for number in (1, 2, 3)])
    assert frame["run"].tolist() == ["a", "b"]
    assert frame["heads"].dtype.kind == "i"


@pytest.mark.parametrize("row", [{"run": "a", "value": 1}, {**ROW, "more": 2}])
def test_rows_that_do_not_fit_leave_the_old_table(tmp_path: Path, row: dict[str, object]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="things: row and columns differ in"):
        TABLE.write(path, [row])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_no_such_table_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"absent\.csv: cannot read the table"):
        TABLE.read(tmp_path / "absent.csv")
    for text, message in (
        ("", r"t.csv: cannot read the table"),
        ("run,removed,heads\na,,1\n", r"t.csv: the column 'value' is missing"),
        ("run,removed,heads,value\na,,1,much\n", r"t.csv: the column 'value' contains 'much', not a number"),
    ):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(HeadroomError, match=message):
            TABLE.read(tmp_path / "t.csv")
