"""Files are either whole or absent; lines end at newlines and nowhere else."""

import hashlib
import stat
from pathlib import Path

import pytest
from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path, read_lines, sha256, write_lines


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


def test_written_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_lines(tmp_path / "ours", ["a"])
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "ours")}
    assert len(modes) == 1


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadroomError, match=r"cannot write .*file/below.txt"):
        write_lines(tmp_path / "file" / "below.txt", ["a"])


@pytest.mark.parametrize(
    "lines", [[], [""], ["a"], ["a", "", "b"], ["a\u2028b", "c\x85d", "e\x0bf", "g\x1ch", "i\r"], ["größer 東京"]]
)
def test_lines_survive(tmp_path: Path, lines: list[str]) -> None:
    write_lines(tmp_path / "lines", lines)
    assert read_lines(tmp_path / "lines") == lines


def test_a_last_line_without_newline_counts(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb")
    assert read_lines(tmp_path / "lines") == ["a", "b"]


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb\ncaf\xe9\n")
    with pytest.raises(HeadroomError, match="lines, line 3: not UTF-8"):
        read_lines(tmp_path / "lines")


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"cannot read .*absent: No such file"):
        read_lines(tmp_path / "absent")


def test_sha256_is_that_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert sha256(tmp_path / "file") == hashlib.sha256(b"abc").hexdigest()
