"""Fetching from mirrors and from a server on this machine."""

import gzip
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from headroom.data import fetching
from headroom.data.catalogue import CatalogueFile
from headroom.data.fetching import fetch, unpacked_lines
from headroom.ground.errors import HeadroomError

CONTENT = gzip.compress("eins\u0085und\nzwei\n".encode(), mtime=0)


def catalogued(url="http://127.0.0.1:9/nowhere", content=CONTENT):
    """Return the catalogue's entry of a small file."""
    return CatalogueFile(
        path="set/text.gz",
        set="train",
        side="source",
        url=url,
        bytes=len(content),
        lines=2,
        sha256=hashlib.sha256(content).hexdigest(),
        licence="none",
    )


@pytest.fixture
def server():
    """Yield (url, answers, requests): a server that gives its answers in turn, the last one again and again."""
    answers, asked = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body, announced = answers.pop(0) if len(answers) > 1 else answers[0]
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/text.gz", answers, asked
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let every pause between two tries be short, and the time for an answer too."""
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    monkeypatch.setattr(fetching, "TIMEOUT", 2.0)


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_mirror_is_tried_first(tmp_path, server):
    url, answers, asked = server
    answers.append((200, CONTENT, len(CONTENT)))
    mirror = tmp_path / "mirror"
    (mirror / "set").mkdir(parents=True)
    (mirror / "set/text.gz").write_bytes(CONTENT)
    path = fetch(catalogued(url), tmp_path / "out", mirror=mirror)
    assert path == tmp_path / "out/set/text.gz"
    assert path.read_bytes() == CONTENT
    assert asked == []


def test_file_that_the_mirror_lacks_is_downloaded(tmp_path, server):
    url, answers, asked = server
    answers.append((200, CONTENT, len(CONTENT)))
    (tmp_path / "mirror").mkdir()
    path = fetch(catalogued(url), tmp_path / "out", mirror=tmp_path / "mirror")
    assert path.read_bytes() == CONTENT
    fetch(catalogued(url), tmp_path / "out")
    assert len(asked) == 1, "a file that is there is not fetched again"


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


def test_mirror_that_is_no_directory_is_named(tmp_path):
    with pytest.raises(HeadroomError, match=r"mirror .*nowhere is not a directory"):
        fetch(catalogued(), tmp_path / "out", mirror=tmp_path / "nowhere")


def test_interrupted_and_refused_downloads_are_tried_again(tmp_path, server):
    url, answers, asked = server
    answers += [
        (200, CONTENT[:10], len(CONTENT)),
        (503, b"", 0),
        (200, CONTENT, len(CONTENT)),
    ]
    assert fetch(catalogued(url), tmp_path / "out").read_bytes() == CONTENT
    assert len(asked) == 3
    assert left(tmp_path / "out") == ["text.gz"]


def test_corrupt_download_is_an_error_with_both_checksums_and_leaves_nothing(tmp_path, server):
    url, answers, asked = server
    answers.append((200, b"<html>blocked</html>", 20))
    with pytest.raises(HeadroomError) as caught:
        fetch(catalogued(url), tmp_path / "out")
    message = str(caught.value)
    assert "set/text.gz" in message
    assert f"expected sha256 {hashlib.sha256(CONTENT).hexdigest()}" in message
    assert f"found {hashlib.sha256(b'<html>blocked</html>').hexdigest()}" in message
    assert message.count("\n") <= 1
    assert left(tmp_path / "out") == []
    assert len(asked) == 1 + fetching.RETRIES


def test_failed_download_keeps_an_older_file_out_of_use(tmp_path, server):
    url, answers, _ = server
    answers.append((404, b"", 0))
    (tmp_path / "out/set").mkdir(parents=True)
    (tmp_path / "out/set/text.gz").write_bytes(b"stale")
    with pytest.raises(HeadroomError, match=r"cannot download set/text\.gz from http://127.*status 404") as caught:
        fetch(catalogued(url), tmp_path / "out")
    assert str(caught.value).count("\n") <= 1
    assert "mirror" in str(caught.value)


def test_no_network_is_one_clear_line(tmp_path):
    with pytest.raises(HeadroomError, match=r"cannot download set/text\.gz from http://127\.0\.0\.1:9/nowhere: .*"):
        fetch(catalogued(), tmp_path / "out")
    assert left(tmp_path / "out") == []


def test_unpacking_splits_at_newlines_alone_and_counts(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(CONTENT)
    assert unpacked_lines(path, catalogued()) == ["eins\u0085und", "zwei"]
    with pytest.raises(HeadroomError, match=r"text\.gz has 2 lines, expected 3"):
        unpacked_lines(path, catalogued().model_copy(update={"lines": 3}))
    path.write_bytes(b"no gzip")
    with pytest.raises(HeadroomError, match=r"cannot unpack .*text\.gz"):
        unpacked_lines(path, catalogued())
