"""Fetching from mirrors, in a directory or on the network, and from where a file is published."""

import gzip
import hashlib
import logging

import pytest
from bad_server import Answer
from headroom.core.errors import HeadroomError
from headroom.data import archives
from headroom.data.catalogue import SideFile
from headroom.data.downloads import Patience
from headroom.data.providers.catalogue import fetch, unpacked_lines

CONTENT = gzip.compress("eins\u0085und\nzwei\n".encode(), mtime=0)
HURRIED = Patience(tries=3, pause=0.01, timeout=2.0)


def catalogued(url="http://127.0.0.1:9/nowhere", content=CONTENT):
    """Return the catalogue's entry of a small file."""
    return SideFile(
        path="set/text.gz",
        set="train",
        side="source",
        url=url,
        bytes=len(content),
        lines=2,
        sha256=hashlib.sha256(content).hexdigest(),
        licence="none",
    )


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_mirror_is_tried_first(tmp_path, server):
    url = server.gives(Answer(CONTENT))
    mirror = tmp_path / "mirror"
    (mirror / "set").mkdir(parents=True)
    (mirror / "set/text.gz").write_bytes(CONTENT)
    path = fetch(catalogued(url), tmp_path / "out", mirror=mirror)
    assert path == tmp_path / "out/set/text.gz"
    assert path.read_bytes() == CONTENT
    assert server.asked == []


def test_file_that_the_mirror_lacks_is_downloaded(tmp_path, server, caplog):
    caplog.set_level(logging.INFO)
    url = server.gives(Answer(CONTENT))
    (tmp_path / "mirror").mkdir()
    path = fetch(catalogued(url), tmp_path / "out", mirror=tmp_path / "mirror")
    assert path.read_bytes() == CONTENT
    assert f"downloading {url} ({len(CONTENT)} bytes; licence: none)" in caplog.text
    fetch(catalogued(url), tmp_path / "out")
    assert len(server.asked) == 1, "a file that is there is not fetched again"


@pytest.mark.parametrize("broken", [CONTENT[:-3], CONTENT[:-1] + b"?"])
def test_broken_file_in_the_mirror_is_an_error_with_both_checksums(tmp_path, broken):
    (tmp_path / "mirror/set").mkdir(parents=True)
    (tmp_path / "mirror/set/text.gz").write_bytes(broken)
    with pytest.raises(HeadroomError) as caught:
        fetch(catalogued(), tmp_path / "out", mirror=tmp_path / "mirror")
    message = str(caught.value)
    assert "mirror/set/text.gz" in message
    assert f"expected sha256 {hashlib.sha256(CONTENT).hexdigest()}" in message
    assert f"found {hashlib.sha256(broken).hexdigest()} ({len(broken)} bytes)" in message
    assert message.count("\n") <= 1
    assert left(tmp_path / "out") == []


def test_without_its_mirror_a_study_downloads(tmp_path, server, caplog):
    path = fetch(catalogued(server.gives(Answer(CONTENT))), tmp_path / "out", mirror=tmp_path / "nowhere")
    assert path.read_bytes() == CONTENT
    assert f"the mirror {tmp_path / 'nowhere'} is not a directory here" in caplog.text


@pytest.mark.parametrize(
    ("bad", "tries"), [(Answer(status=404), 1), (Answer(status=503), 3), (Answer(CONTENT[:-1] + b"?"), 1)]
)
def test_mirror_on_the_network_is_tried_first_and_then_the_publisher(tmp_path, server, bad, tries):
    url = server.gives(*[bad] * tries, Answer(CONTENT))
    mirror = f"{server.address}/our/mirror/"
    path = fetch(catalogued(url), tmp_path / "out", mirror=mirror, patience=HURRIED)
    assert path.read_bytes() == CONTENT
    assert [asked.path for asked in server.asked] == ["/our/mirror/set/text.gz"] * tries + ["/text.gz"]


def test_mirror_on_the_network_is_enough(tmp_path, server):
    server.gives(Answer(CONTENT))
    assert fetch(catalogued(), tmp_path / "out", mirror=server.address, patience=HURRIED).read_bytes() == CONTENT
    assert [asked.path for asked in server.asked] == ["/set/text.gz"]


def test_interrupted_and_refused_downloads_are_tried_again(tmp_path, server):
    url = server.gives(Answer(CONTENT, cut=10), Answer(status=503), Answer(CONTENT))
    assert fetch(catalogued(url), tmp_path / "out", patience=HURRIED).read_bytes() == CONTENT
    assert len(server.asked) == 3
    assert left(tmp_path / "out") == ["text.gz"]


def test_corrupt_download_is_an_error_with_both_checksums_and_leaves_nothing(tmp_path, server):
    with pytest.raises(HeadroomError) as caught:
        fetch(catalogued(server.gives(Answer(b"<html>blocked</html>"))), tmp_path / "out")
    message = str(caught.value)
    assert "set/text.gz" in message
    assert f"expected sha256 {hashlib.sha256(CONTENT).hexdigest()}" in message
    assert f"found {hashlib.sha256(b'<html>blocked</html>').hexdigest()}" in message
    assert message.count("\n") <= 1
    assert left(tmp_path / "out") == []


def test_failed_download_keeps_an_older_file_out_of_use(tmp_path, server):
    (tmp_path / "out/set").mkdir(parents=True)
    (tmp_path / "out/set/text.gz").write_bytes(b"stale")
    with pytest.raises(HeadroomError, match=r"cannot download text\.gz from http://127.*status 404;\n.*set/text\.gz"):
        fetch(catalogued(server.gives(Answer(status=404))), tmp_path / "out")


def test_unpacking_splits_at_newlines_alone_and_counts(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(CONTENT)
    assert unpacked_lines(path, catalogued()) == ["eins\u0085und", "zwei"]
    with pytest.raises(HeadroomError, match=r"text\.gz has 2 lines, expected 3"):
        unpacked_lines(path, catalogued().model_copy(update={"lines": 3}))
    path.write_bytes(b"no gzip")
    with pytest.raises(HeadroomError, match=r"cannot unpack .*text\.gz"):
        unpacked_lines(path, catalogued())


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LEAST", 100_000)
    (tmp_path / "text.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(HeadroomError, match=r"text\.gz unpacks to \d+ bytes, 1\d\d times its size: it is no honest"):
        unpacked_lines(tmp_path / "text.gz", catalogued())
