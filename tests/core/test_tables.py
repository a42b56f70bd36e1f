"""Tables, resampled scores and lines survive writing and reading, and are written atomically."""

import errno
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, read_lines, write_lines
from headroom.core.resamples import Resamples, read_resamples
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


def test_texts_stay_as_they_are(tmp_path: Path) -> None:
    texts = ['a,"b" \u2028 c\x85 |d:e', "NA", "nan", "+1", "1e3", "True"]
    TABLE.write(tmp_path / "t.csv", [{**ROW, "run": text} for text in texts])
    assert TABLE.read(tmp_path / "t.csv")["run"].tolist() == texts


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


def test_files_are_read_as_one_and_those_without_rows_keep_columns_and_types(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "1.csv", [ROW])
    TABLE.write(tmp_path / "2.csv", [])
    TABLE.write(tmp_path / "3.csv", [{**ROW, "run": "b"}])
    frame = TABLE.read_all([tmp_path / f"{number}.csv" for number in (1, 2, 3)])
    assert frame["run"].tolist() == ["a", "b"]
    assert frame["heads"].dtype.kind == "i"
    for frame in (TABLE.read(tmp_path / "2.csv"), TABLE.read_all([])):
        assert tuple(frame.columns) == TABLE.names
        assert [frame[name].dtype.kind in "iuf" for name in TABLE.names] == [False, False, True, True]


def test_rows_that_do_not_fit_leave_the_old_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old")
    for row in ({"run": "a", "value": 1}, {**ROW, "more": 2}):
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
        ("run,removed,heads,value\na,,1,12.25\na,,1,12.2", r"t.csv: ends within a line, .*rerun the job"),
        ("run,removed,heads,value\na,,1,much\n", r"t.csv: the column 'value' contains 'much', not a number"),
    ):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(HeadroomError, match=message):
            TABLE.read(tmp_path / "t.csv")


def test_rows_come_back_with_their_own_full_model(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    first, second = numpy.array([1.0, 2.0]), numpy.array([3.0, 5.0])
    resamples = Resamples()
    resamples.add(first, first)
    resamples.add()
    resamples.add(second, first)
    resamples.add(second, second)
    resamples.add(first, first)
    resamples.write(path)
    resamples.write(tmp_path / "again.npz")
    assert path.read_bytes() == (tmp_path / "again.npz").read_bytes()
    with numpy.load(path) as stored:
        assert len(stored["fulls"]) == 2  # each once
    found = read_resamples(path)
    assert list(found) == [0, 2, 3, 4]
    assert [(value.tolist(), full.tolist()) for value, full in found.values()] == [
        ([1, 2], [1, 2]),
        ([3, 5], [1, 2]),
        ([3, 5], [3, 5]),
        ([1, 2], [1, 2]),
    ]


def test_what_is_no_such_file_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    for content in (b"", b"no archive"):
        path.write_bytes(content)
        with pytest.raises(HeadroomError, match=r"bad\.npz"):
            read_resamples(path)


def test_the_file_appears_whole_in_a_new_directory(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.parent == path.parent
        assert temporary.suffix == ".txt"
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_of_the_file_goes(tmp_path: Path) -> None:
    left = [tmp_path / ".a.csv.1b_d5f7h.csv", tmp_path / ".a.csv.1b_d5f7h.csv.tmp"]
    others = [tmp_path / ".b.csv.1b_d5f7h.csv", tmp_path / "a.csv.1b_d5f7h.csv", tmp_path / ".a.csv"]
    for path in [*left, *others]:
        path.write_text("half")
    write_lines(tmp_path / "a.csv", ["whole"])
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.csv", *others])


def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    def failing(error: Exception) -> None:
        with atomic_path(tmp_path / "file"):
            raise error

    for error in (
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("[enforce fail at inline_container.cc:659] . unexpected pos 64 vs 0"),
    ):
        with pytest.raises(HeadroomError, match=r"file: cannot write, no space left on the disk; free space there"):
            failing(error)
        assert list(tmp_path.iterdir()) == []


def test_lines_survive(tmp_path: Path) -> None:
    odd = ["a\u2028b", "c\x85d", "e\x0bf", "g\x1ch", "i\r"]
    for lines in ([], [""], ["a"], ["a", "", "b"], odd, ["größer 東京"]):
        write_lines(tmp_path / "lines", lines)
        assert read_lines(tmp_path / "lines") == lines
    with pytest.raises(HeadroomError, match=r"absent: cannot read, No such file"):
        read_lines(tmp_path / "absent")
