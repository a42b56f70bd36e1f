"""Where a file is looked for first."""

from pathlib import Path

import pytest
from headroom.data.downloads import addresses, in_mirror


def test_a_directory_has_a_file_or_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a").write_text("a")
    assert in_mirror(tmp_path, "set/a") == tmp_path / "set/a"
    assert in_mirror(str(tmp_path), "set/b") is None
    assert in_mirror(tmp_path, "set") is None
    assert in_mirror(None, "set/a") is None
    assert caplog.text == ""
    assert in_mirror(tmp_path / "gone", "set/a") is None
    assert "gone is not a directory here" in caplog.text


@pytest.mark.parametrize("mirror", [None, "some/directory", Path("/some/directory")])
def test_a_file_is_downloaded_from_where_it_is_published(mirror: Path | str | None) -> None:
    assert addresses(mirror, "set/a", "https://x/a") == ["https://x/a"]


@pytest.mark.parametrize("mirror", ["http://here:8000/data", "http://here:8000/data/"])
def test_a_mirror_on_the_network_comes_before(mirror: str) -> None:
    assert in_mirror(mirror, "set/a") is None
    assert addresses(mirror, "set/a", "https://x/a") == ["http://here:8000/data/set/a", "https://x/a"]
