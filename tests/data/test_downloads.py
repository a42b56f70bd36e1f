"""Downloads over a faulty network: a local server that truncates, stalls, refuses and returns wrong data."""

import gzip
import hashlib
import logging
import random
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pooch
import pytest
from headroom.core.errors import HeadroomError
from headroom.data import downloads
from headroom.data.catalogue import SideFile
from headroom.data.downloads import TRIES, fetch_archive, fetch_file
from headroom.data.providers.catalogue import fetch, read_unpacked_lines

LONG = 60.0
"""Seconds of a stall: longer than any test waits for it."""


@dataclass(frozen=True)
class Answer:
    """One answer."""

    body: bytes = b""
    status: int = 200  # except for partial content
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0  # seconds before the answer
    cut: int | None = None  # bytes after which the connection is closed, although more were announced


@dataclass
class FaultyServer:
    """A running server: gives its answers in turn, the last one again and again, and notes what it was asked."""

    address: str = ""
    answers: list[Answer] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def gives(self, *answers: Answer) -> str:
        """Set the answers and return the address of a file."""
        self.answers[:] = answers
        return f"{self.address}/text.gz"

    def answer(self, path: str) -> Answer:
        """Return the next answer."""
        self.paths.append(path)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    """A local server with configurable answers."""
    over = threading.Event()
    state = FaultyServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = state.answer(self.path)
            if over.wait(answer.wait):
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.cut])

        def log_message(self, *arguments: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield state
    over.set()
    running.shutdown()
    running.server_close()


BODY = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No pause between tries, and short patience with a silent server."""
    monkeypatch.setattr(pooch.core, "time", SimpleNamespace(sleep=lambda *_: None))
    monkeypatch.setattr(downloads, "TIMEOUT", 0.5)


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


@pytest.fixture
def get(tmp_path):
    """Return a function that downloads a file into `tmp_path` and returns its content."""

    def load(url, mirror=None):
        path = tmp_path / "out/text.gz"
        assert fetch_file(url, path, place="set/text.gz", expected=checksum(BODY), mirror=mirror) == path
        return path.read_bytes()

    return load


def refused(get, address):
    """Return the message of a download that fails: two lines at most."""
    with pytest.raises(HeadroomError) as caught:
        get(address)
    message = str(caught.value)
    assert message.startswith("text.gz: cannot download from http")
    assert message.endswith(";\ncheck the network, or give a mirror with set/text.gz")
    assert message.count("\n") == 1
    return message


def test_a_file_comes_whole_and_alone(get, server, tmp_path):
    assert get(server.gives(Answer(BODY))) == BODY
    assert left(tmp_path) == ["text.gz"]
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "out/text.gz").stat().st_mode == (tmp_path / "plain").stat().st_mode


MISHAPS = {
    "no byte": (Answer(BODY, cut=0), "IncompleteRead(0 bytes read, 200000 more expected)"),
    "cut": (Answer(BODY, cut=70_000), "IncompleteRead(70000 bytes read, 130000 more expected)"),
    "503": (Answer(status=503), "status 503"),
    "stall": (Answer(BODY, wait=LONG), "Read timed out. (read timeout=0.5)"),
    "wrong": (Answer(OTHER), f"expected {checksum(BODY)} but got {checksum(OTHER)}"),
}


@pytest.mark.parametrize("kind", MISHAPS)
def test_what_may_pass_is_tried_again_and_leaves_the_older_file(get, server, tmp_path, kind):
    mishap, reason = MISHAPS[kind]
    (tmp_path / "out").mkdir()
    (tmp_path / "out/text.gz").write_bytes(b"older")
    assert reason in refused(get, server.gives(mishap))
    assert len(server.paths) == TRIES
    assert (tmp_path / "out/text.gz").read_bytes() == b"older"
    assert left(tmp_path) == ["text.gz"]
    assert get(server.gives(mishap, Answer(BODY))) == BODY
    assert left(tmp_path) == ["text.gz"]


@pytest.mark.parametrize("bad", [Answer(status=404), Answer(OTHER)], ids=["missing", "wrong"])
def test_a_mirror_on_the_network_is_tried_before_the_publisher(get, server, tmp_path, bad, caplog):
    address = server.gives(*[bad] * TRIES, Answer(BODY))
    assert get(address, f"{server.address}/mirror/") == BODY
    assert server.paths == ["/mirror/set/text.gz"] * TRIES + ["/text.gz"]
    assert f"text.gz: cannot download from {server.address}/mirror/set/text.gz" in caplog.text
    assert left(tmp_path) == ["text.gz"]


def test_what_cannot_be_reached_or_written_is_told(get, server, tmp_path):
    assert "Connection refused" in refused(get, "http://127.0.0.1:9/text.gz")
    assert left(tmp_path) == []
    (tmp_path / "out/text.gz").mkdir(parents=True)
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write, Is a directory"):
        get(server.gives(Answer(BODY)))
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("a file, no directory")
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write"):
        get(server.gives(Answer(BODY)))


CONTENT = gzip.compress("eins\u0085und\nzwei\n".encode(), mtime=0)
WRONG = CONTENT[:-1] + b"?"


def catalogued(url="http://127.0.0.1:9/text.gz", lines=2):
    """Return the catalogue's entry of a small file."""
    about = {"set": "train", "side": "source", "bytes": len(CONTENT), "lines": lines, "sha256": checksum(CONTENT)}
    return SideFile(path="set/text.gz", url=url, licence="none", **about)


def fetch_catalogued(url, directory, mirror=None):
    return fetch(catalogued(url), directory, mirror=mirror)


def fetch_released(url, directory, mirror=None):
    return fetch_archive(url, directory / "set", expected=checksum(CONTENT), mirror=mirror)


@pytest.mark.parametrize(("get", "place"), [(fetch_catalogued, "set/text.gz"), (fetch_released, "released/text.gz")])
class TestFetching:
    """Catalogued files and archives."""

    def test_a_mirror_is_tried_first(self, tmp_path, server, get, place):
        url, mirror, output = server.gives(Answer(CONTENT)), tmp_path / "mirror", tmp_path / "out"
        (mirror / place).parent.mkdir(parents=True)
        (mirror / place).write_bytes(CONTENT)
        assert get(url, output, mirror) == mirror / place, "a mirror is used in place"
        assert left(output) == []
        assert server.paths == []
        (mirror / place).write_bytes(WRONG)
        with pytest.raises(HeadroomError, match=f"mirror/{place}: ") as caught:
            get(url, tmp_path / "again", mirror)
        message = str(caught.value)
        assert f"expected sha256 {checksum(CONTENT)}" in message
        assert f"found {checksum(WRONG)} ({len(WRONG)} bytes)" in message
        assert message.count("\n") <= 1
        assert (mirror / place).read_bytes() == WRONG, "a mirror is not written to"

    def test_what_a_mirror_lacks_is_downloaded_once(self, tmp_path, server, get, place, caplog):
        caplog.set_level(logging.INFO)
        (tmp_path / "mirror").mkdir()
        url = server.gives(*[Answer(WRONG)] * TRIES, Answer(CONTENT))
        with pytest.raises(HeadroomError, match=f"mirror with {place}"):
            get(url, tmp_path / "out", tmp_path / "mirror")
        assert left(tmp_path) == []
        assert get(url, tmp_path / "out", tmp_path / "mirror").read_bytes() == CONTENT
        assert f"downloading {url}" in caplog.text
        assert (f"({len(CONTENT)} bytes; licence: none)" in caplog.text) == (get is fetch_catalogued)
        assert get(url, tmp_path / "out") == tmp_path / "out/set/text.gz"
        assert len(server.paths) == TRIES + 1, "a file that is there is not fetched again"


def test_unpacking_splits_at_newlines_alone_and_counts(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(CONTENT)
    assert read_unpacked_lines(path, catalogued()) == ["eins\u0085und", "zwei"]
    with pytest.raises(HeadroomError, match=r"text\.gz: 2 lines, expected 3"):
        read_unpacked_lines(path, catalogued(lines=3))
    path.write_bytes(b"no gzip")
    with pytest.raises(HeadroomError, match=r"text\.gz: cannot unpack"):
        read_unpacked_lines(path, catalogued())
