"""Fetching of catalogued files and of archives: from a mirror, in a directory or on the network, or as published."""

import gzip
import hashlib
import logging
from types import SimpleNamespace

import pytest
from faulty_server import Answer
from headroom.core.errors import HeadroomError
from headroom.data import archives
from headroom.data.archives import fetch_archive
from headroom.data.catalogue import SideFile
from headroom.data.downloads import Patience
from headroom.data.providers.catalogue import fetch, read_unpacked_lines

CONTENT = gzip.compress("eins\u0085und\nzwei\n".encode(), mtime=0)
WRONG = CONTENT[:-1] + b"?"
HURRIED = Patience(tries=3, pause=0.01, timeout=2.0)
UNREACHABLE = "http://127.0.0.1:9/text.gz"


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def catalogued(url=UNREACHABLE, lines=2):
    """Return the catalogue's entry of a small file."""
    about = {"set": "train", "side": "source", "bytes": len(CONTENT), "lines": lines, "sha256": checksum(CONTENT)}
    return SideFile(path="set/text.gz", url=url, licence="none", **about)


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


@pytest.fixture(params=["catalogue", "archive"])
def way(request, tmp_path):
    """Return one of the two ways to fetch a file: `get`, its place in a mirror, and whether that is used in place."""

    def of_catalogue(url, mirror=None):
        return fetch(catalogued(url), tmp_path / "out", mirror=mirror, patience=HURRIED)

    def of_archive(url, mirror=None):
        expected = checksum(CONTENT)
        return fetch_archive(url, tmp_path / "out/set", expected=expected, mirror=mirror, patience=HURRIED)

    if request.param == "catalogue":
        return SimpleNamespace(get=of_catalogue, place="set/text.gz", copies=True)
    return SimpleNamespace(get=of_archive, place="released/text.gz", copies=False)


@pytest.fixture
def mirror(tmp_path, way):
    """Return a function that puts content into a mirror and returns the mirror."""

    def put(content):
        (tmp_path / "mirror" / way.place).parent.mkdir(parents=True)
        (tmp_path / "mirror" / way.place).write_bytes(content)
        return tmp_path / "mirror"

    return put


def test_a_mirror_is_tried_first(tmp_path, server, way, mirror):
    path = way.get(server.gives(Answer(CONTENT)), mirror(CONTENT))
    assert path == (tmp_path / "out/set/text.gz" if way.copies else tmp_path / "mirror" / way.place)
    assert path.read_bytes() == CONTENT
    assert server.asked == []


def test_a_wrong_file_in_a_mirror_is_an_error_with_both_checksums(tmp_path, way, mirror):
    with pytest.raises(HeadroomError, match=f"mirror/{way.place}: ") as caught:
        way.get(UNREACHABLE, mirror(WRONG))
    message = str(caught.value)
    assert f"expected sha256 {checksum(CONTENT)}" in message
    assert f"found {checksum(WRONG)} ({len(WRONG)} bytes)" in message
    assert message.count("\n") <= 1
    assert left(tmp_path) == ["text.gz"], "a mirror is not written to"


def test_what_a_mirror_lacks_is_downloaded_once(tmp_path, server, way, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "mirror").mkdir()
    url = server.gives(Answer(CONTENT))
    assert way.get(url, tmp_path / "mirror").read_bytes() == CONTENT
    assert f"downloading {url}" in caplog.text
    assert (f"({len(CONTENT)} bytes; licence: none)" in caplog.text) == way.copies
    assert way.get(url) == tmp_path / "out/set/text.gz"
    assert len(server.asked) == 1, "a file that is there is not fetched again"


def test_a_wrong_download_is_an_error_with_both_checksums_and_leaves_nothing(tmp_path, server, way):
    both = f"expected {checksum(CONTENT)} but got {checksum(WRONG)}"
    with pytest.raises(HeadroomError, match=both) as caught:
        way.get(server.gives(Answer(WRONG)))
    assert f"mirror with {way.place}" in str(caught.value)
    assert left(tmp_path) == []


def test_unpacking_splits_at_newlines_alone_and_counts(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(CONTENT)
    assert read_unpacked_lines(path, catalogued()) == ["eins\u0085und", "zwei"]
    with pytest.raises(HeadroomError, match=r"text\.gz: 2 lines, expected 3"):
        read_unpacked_lines(path, catalogued(lines=3))
    path.write_bytes(b"no gzip")
    with pytest.raises(HeadroomError, match=r"text\.gz: cannot unpack"):
        read_unpacked_lines(path, catalogued())


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LEAST", 100_000)
    (tmp_path / "text.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(HeadroomError, match=r"text\.gz: unpacks to \d+ bytes, 1\d\d times its size"):
        read_unpacked_lines(tmp_path / "text.gz", catalogued())
