"""Files are written atomically; lines end only at newlines."""

import errno
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, read_lines, write_lines


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


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("[enforce fail at inline_container.cc:659] . unexpected pos 64 vs 0"),
    ],
)
def test_a_full_disk_is_a_clear_error(tmp_path: Path, error: Exception) -> None:
    def failing() -> None:
        with atomic_path(tmp_path / "file"):
            raise error

    with pytest.raises(HeadroomError, match=r"file: cannot write, no space left on the disk; free space there"):
        failing()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "lines", [[], [""], ["a"], ["a", "", "b"], ["a\u2028b", "c\x85d", "e\x0bf", "g\x1ch", "i\r"], ["größer 東京"]]
)
def test_lines_survive(tmp_path: Path, lines: list[str]) -> None:
    write_lines(tmp_path / "lines", lines)
    assert read_lines(tmp_path / "lines") == lines


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"absent: cannot read, No such file"):
        read_lines(tmp_path / "absent")
