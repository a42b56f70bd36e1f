"""Tables survive writing and reading, and are written whole or not at all."""

import math
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.tables import number, read_table, signature, write_table

COLUMNS = ("run", "removed", "value")


def test_rows_survive_with_columns_in_order(tmp_path: Path) -> None:
    rows = [{"value": 0.1, "run": "a", "removed": "E1:1 D2:3"}, {"value": -2.0, "run": "NA", "removed": ""}]
    write_table(tmp_path / "t.csv", rows, COLUMNS)
    assert (tmp_path / "t.csv").read_bytes() == b"run,removed,value\na,E1:1 D2:3,0.1\nNA,,-2\n"
    frame = read_table(tmp_path / "t.csv", COLUMNS)
    assert frame["run"].tolist() == ["a", "NA"]
    assert frame["removed"].tolist() == ["E1:1 D2:3", ""]
    assert frame["value"].tolist() == [0.1, -2.0]


def test_texts_with_commas_quotes_and_unicode_line_ends_survive(tmp_path: Path) -> None:
    text = 'a,"b" \u2028 c\x85 |d:e'
    write_table(tmp_path / "t.csv", [{"run": text, "removed": "", "value": 1}], COLUMNS)
    assert read_table(tmp_path / "t.csv")["run"].tolist() == [text]


def test_floats_have_nine_significant_digits(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [{"value": 1 / 3}, {"value": 1e-12 / 3}], ["value"])
    assert (tmp_path / "t.csv").read_text() == "value\n0.333333333\n3.33333333e-13\n"


def test_empty_cells_are_not_numbers(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [{"value": 1.5}, {"value": float("nan")}, {"value": ""}], ["value"])
    values = number(read_table(tmp_path / "t.csv"), "value").tolist()
    assert values[0] == 1.5
    assert math.isnan(values[1])
    assert math.isnan(values[2])


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [], COLUMNS)
    assert tuple(read_table(tmp_path / "t.csv", COLUMNS).columns) == COLUMNS


@pytest.mark.parametrize("row", [{"run": "a", "value": 1}, {"run": "a", "removed": "", "value": 1, "more": 2}])
def test_rows_that_do_not_fit_leave_the_old_table(tmp_path: Path, row: dict[str, object]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="row and columns differ in"):
        write_table(path, [row], COLUMNS)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_files_and_columns_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"cannot read the table .*absent.csv"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(HeadroomError, match=r"cannot read the table .*empty.csv"):
        read_table(tmp_path / "empty.csv")
    write_table(tmp_path / "t.csv", [{"run": "a"}], ["run"])
    with pytest.raises(HeadroomError, match=r"t.csv: the column 'value' is missing"):
        read_table(tmp_path / "t.csv", ["run", "value"])


def test_a_signature_keeps_the_given_order() -> None:
    assert signature(tok="13a", last_epoch=8, beam=1) == "tok:13a|last-epoch:8|beam:1"
