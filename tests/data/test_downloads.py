"""Downloads over a faulty network: a local server that truncates, stalls, refuses and returns wrong data."""

import gzip
import hashlib
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.data import archives, downloads
from headroom.data.archives import fetch_archive
from headroom.data.catalogue import SideFile
from headroom.data.downloads import CHUNK, Patience, download
from headroom.data.providers.catalogue import fetch, read_unpacked_lines
from study import ROOT, wait_until

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
    drip: int | None = None  # bytes that are sent at once, one hundredth of a second apart
    ranged: bool = False  # whether range requests are answered by partial content


@dataclass
class FaultyServer:
    """A running server: gives its answers in turn, the last one again and again, and notes what it was asked."""

    address: str = ""
    answers: list[Answer] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)  # "" for the whole file

    def gives(self, *answers: Answer) -> str:
        """Set the answers and return the address of a file."""
        self.answers[:] = answers
        return f"{self.address}/text.gz"

    def answer(self, path: str, wanted: str) -> tuple[Answer, int, bytes, Mapping[str, str]]:
        """Return the next answer with its status, body and headers: partial content if requested and allowed."""
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.paths.append(path)
        self.ranges.append(wanted)
        if not wanted or not answer.ranged:
            return answer, answer.status, answer.body, answer.headers
        start, end = int(wanted.removeprefix("bytes=").removesuffix("-")), len(answer.body)
        if start >= end:
            return answer, 416, b"", {}
        return answer, 206, answer.body[start:], {"Content-Range": f"bytes {start}-{end - 1}/{end}"}


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    """A local server with configurable answers."""
    over = threading.Event()
    state = FaultyServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer, status, body, headers = state.answer(self.path, self.headers.get("Range", ""))
            if over.wait(answer.wait):
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            body = body[: answer.cut]
            step = answer.drip or max(1, len(body))
            try:
                for start in range(0, len(body), step):
                    self.wfile.write(body[start : start + step])
                    if answer.drip and over.wait(0.01):
                        return
            except OSError:
                pass  # the other side has had enough

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
RANGED = Answer(BODY, ranged=True)
PATIENT = Patience(tries=3, pause=0.01)
HURRIED = replace(PATIENT, timeout=0.3)


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


@pytest.fixture
def get(tmp_path):
    """Return a function that downloads a file into `tmp_path` and returns its content."""

    def load(*addresses, patience=PATIENT, body=BODY, known=True):
        about = {"expected": checksum(body), "size": len(body)} if known else {"expected": None}
        download(addresses, tmp_path / "out/text.gz", place="set/text.gz", patience=patience, **about)
        return (tmp_path / "out/text.gz").read_bytes()

    return load


def refused(get, *addresses, **about):
    """Return the message of a download that fails: two lines at most."""
    with pytest.raises(HeadroomError) as caught:
        get(*addresses, **about)
    message = str(caught.value)
    assert message.startswith("text.gz: cannot download from http")
    assert message.endswith(";\ncheck the network, or give a mirror with set/text.gz")
    assert message.count("\n") == 1
    return message


def in_a_process(address: str, path: Path, before: str = "pass") -> "subprocess.Popen[str]":
    """Start the download of the file in a process of its own."""
    code = (
        f"import pathlib, resource, sys; {before}; from headroom.data.downloads import download; "
        f"download([sys.argv[1]], pathlib.Path(sys.argv[2]), place='', expected='{checksum(BODY)}')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    command = [sys.executable, "-c", code, address, str(path)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_file_comes_whole_and_alone(get, server, tmp_path):
    assert get(server.gives(Answer(BODY))) == BODY
    assert left(tmp_path) == ["text.gz"]
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "out/text.gz").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    "mishap",
    [
        Answer(BODY, cut=0),
        Answer(BODY, cut=70_000),
        Answer(status=503),
        Answer(status=429, headers={"Retry-After": "0"}),
    ],
    ids=["no byte", "cut", "503", "429"],
)
def test_what_may_pass_is_tried_again(get, server, tmp_path, mishap):
    assert get(server.gives(mishap, mishap, Answer(BODY))) == BODY
    assert len(server.paths) == 3
    assert left(tmp_path) == ["text.gz"]


def test_a_stall_is_given_up_and_tried_again(get, server):
    stall = Answer(BODY, wait=LONG)
    assert get(server.gives(stall, stall, Answer(BODY)), patience=replace(HURRIED, tries=20, pause=0)) == BODY
    assert len(server.paths) >= 3


@pytest.mark.parametrize(
    ("mishap", "reason", "patience"),
    [
        (Answer(status=503), "status 503", PATIENT),
        (Answer(BODY, cut=70_000), "IncompleteRead(70000 bytes read, 130000 more expected)", PATIENT),
        (Answer(BODY, wait=LONG), "Read timed out. (read timeout=0.3)", HURRIED),
    ],
    ids=["503", "cut", "stall"],
)
def test_what_does_not_pass_ends_and_leaves_the_older_file(get, server, tmp_path, mishap, reason, patience):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/text.gz").write_bytes(b"older")
    assert reason in refused(get, server.gives(mishap), patience=patience)
    assert len(server.paths) == 3
    assert (tmp_path / "out/text.gz").read_bytes() == b"older"
    assert {*left(tmp_path)} <= {"text.gz", ".text.gz.part"}


def test_what_will_not_change_is_not_asked_again(get, server):
    for status in (400, 401, 403, 404, 410):
        server.paths.clear()
        address = server.gives(Answer(status=status))
        assert f"from {address}: status {status};" in refused(get, address)
        assert len(server.paths) == 1


@pytest.mark.parametrize(
    "bad", [Answer(status=404), Answer(status=503), Answer(OTHER)], ids=["missing", "busy", "wrong"]
)
def test_the_next_address_is_tried(get, server, tmp_path, bad, caplog):
    tries = 3 if bad.status == 503 else 1
    address = server.gives(*[bad] * tries, Answer(BODY))
    assert get(f"{address}?first", f"{address}?second") == BODY
    assert server.paths == ["/text.gz?first"] * tries + ["/text.gz?second"]
    assert f"text.gz: cannot download from {address}?first" in caplog.text
    assert left(tmp_path) == ["text.gz"]


def test_wrong_bytes_are_told_with_both_checksums_and_leave_nothing(get, server, tmp_path):
    page = b"<html>log in first</html>"
    message = refused(get, server.gives(replace(RANGED, body=page)))
    assert f"expected {checksum(BODY)} but got {checksum(page)}" in message
    assert len(server.paths) == 1
    assert left(tmp_path) == []


CUT = replace(RANGED, cut=4 * CHUNK)
REST = f"bytes={4 * CHUNK}-"


class TestResuming:
    @pytest.mark.parametrize(
        ("answers", "ranges"),
        [
            ([CUT, CUT, RANGED], ["", REST, f"bytes={8 * CHUNK}-"]),
            ([CUT, Answer(BODY)], ["", REST]),
            ([CUT, Answer(status=416), RANGED], ["", REST, ""]),
            ([CUT, Answer(BODY, status=206), RANGED], ["", REST, ""]),
            ([CUT, replace(RANGED, body=OTHER), RANGED], ["", REST, ""]),
        ],
        ids=["parts", "no parts given", "nothing more", "another place", "another file"],
    )
    def test_the_checksum_decides_whether_parts_fit(self, get, server, tmp_path, answers, ranges):
        assert get(server.gives(*answers)) == BODY
        assert server.ranges == ranges
        assert left(tmp_path) == ["text.gz"]

    def test_a_file_without_checksum_is_loaded_from_its_start(self, get, server, tmp_path):
        assert get(server.gives(CUT, RANGED), known=False) == BODY
        assert server.ranges == ["", ""]
        assert left(tmp_path) == ["text.gz"]

    def test_without_end_if_each_try_gets_on(self, get, server):
        whole = Answer(BODY * 30, ranged=True)
        assert get(server.gives(*[replace(whole, cut=1_200_000)] * 4, whole), body=BODY * 30) == BODY * 30
        assert len(server.paths) == 5 > PATIENT.tries

    def test_in_a_later_call(self, get, server, tmp_path):
        for part in (BODY[:70_000], BODY, OTHER, BODY + OTHER, b""):
            (tmp_path / "out").mkdir()
            (tmp_path / "out/.text.gz.part").write_bytes(part)
            assert get(server.gives(RANGED)) == BODY
            assert left(tmp_path) == ["text.gz"]
            shutil.rmtree(tmp_path / "out")

    def test_after_a_kill(self, get, server, tmp_path):
        address = server.gives(replace(RANGED, drip=400))
        part = tmp_path / "out/.text.gz.part"
        process = in_a_process(address, tmp_path / "out/text.gz")
        wait_until(lambda: (part.is_file() and part.stat().st_size > 0) or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        have = part.stat().st_size
        server.answers[:] = [RANGED]
        assert get(address) == BODY
        assert server.ranges == ["", f"bytes={have}-"]


class TestPace:
    """The clock goes on by a tenth of a second for every chunk."""

    PATIENCE = replace(PATIENT, limit=0.1)

    @pytest.fixture(autouse=True)
    def clock(self, monkeypatch):
        ticks = iter(range(10_000))
        monkeypatch.setattr(downloads, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 10))

    def test_a_trickle_is_given_up_and_gone_on_with_later(self, get, server, tmp_path):
        address = server.gives(RANGED)
        message = refused(get, address, patience=replace(self.PATIENCE, slowest=2 * 10 * CHUNK))
        have = 3 * CHUNK  # a tenth of a second, and half of one for every chunk
        assert f"too slow: {have} bytes in 0 s" in message
        assert (tmp_path / "out/.text.gz.part").stat().st_size == have
        assert get(address) == BODY
        assert server.ranges == ["", f"bytes={have}-"]

    def test_a_slow_file_that_keeps_its_pace_is_waited_for(self, get, server):
        assert get(server.gives(Answer(BODY)), patience=replace(self.PATIENCE, slowest=10 * CHUNK)) == BODY


def test_what_cannot_be_written_is_told_and_leaves_nothing(get, server, tmp_path):
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    process = in_a_process(server.gives(RANGED), tmp_path / "out/text.gz", limit)
    assert "out/text.gz: cannot write, File too large" in process.communicate(timeout=60)[1]
    assert left(tmp_path) == []
    (tmp_path / "out/text.gz").mkdir()
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write, Is a directory"):
        get(server.gives(RANGED))
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("a file, no directory")
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write"):
        get(server.gives(RANGED))


CONTENT = gzip.compress("eins\u0085und\nzwei\n".encode(), mtime=0)
WRONG = CONTENT[:-1] + b"?"


def catalogued(url="http://127.0.0.1:9/text.gz", lines=2):
    """Return the catalogue's entry of a small file."""
    about = {"set": "train", "side": "source", "bytes": len(CONTENT), "lines": lines, "sha256": checksum(CONTENT)}
    return SideFile(path="set/text.gz", url=url, licence="none", **about)


def fetch_catalogued(url, directory, mirror=None):
    return fetch(catalogued(url), directory, mirror=mirror, patience=PATIENT)


def fetch_released(url, directory, mirror=None):
    return fetch_archive(url, directory / "set", expected=checksum(CONTENT), mirror=mirror, patience=PATIENT)


@pytest.mark.parametrize(("get", "place"), [(fetch_catalogued, "set/text.gz"), (fetch_released, "released/text.gz")])
class TestFetching:
    """Catalogued files, which are copied from a mirror, and archives, which are used in place."""

    def test_a_mirror_is_tried_first(self, tmp_path, server, get, place):
        url, mirror, output = server.gives(Answer(CONTENT)), tmp_path / "mirror", tmp_path / "out"
        (mirror / place).parent.mkdir(parents=True)
        (mirror / place).write_bytes(CONTENT)
        path = get(url, output, mirror)
        assert path == (output / place if get is fetch_catalogued else mirror / place)
        assert path.read_bytes() == CONTENT
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
        url = server.gives(Answer(WRONG), Answer(CONTENT))
        with pytest.raises(HeadroomError, match=f"mirror with {place}"):
            get(url, tmp_path / "out", tmp_path / "mirror")
        assert left(tmp_path) == []
        assert get(url, tmp_path / "out", tmp_path / "mirror").read_bytes() == CONTENT
        assert f"downloading {url}" in caplog.text
        assert (f"({len(CONTENT)} bytes; licence: none)" in caplog.text) == (get is fetch_catalogued)
        assert get(url, tmp_path / "out") == tmp_path / "out/set/text.gz"
        assert len(server.paths) == 2, "a file that is there is not fetched again"


def test_unpacking_splits_at_newlines_alone_and_counts(tmp_path, monkeypatch):
    path = tmp_path / "text.gz"
    path.write_bytes(CONTENT)
    assert read_unpacked_lines(path, catalogued()) == ["eins\u0085und", "zwei"]
    with pytest.raises(HeadroomError, match=r"text\.gz: 2 lines, expected 3"):
        read_unpacked_lines(path, catalogued(lines=3))
    path.write_bytes(b"no gzip")
    with pytest.raises(HeadroomError, match=r"text\.gz: cannot unpack"):
        read_unpacked_lines(path, catalogued())
    monkeypatch.setattr(archives, "LEAST", 100_000)
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(HeadroomError, match=r"text\.gz: unpacks to \d+ bytes, 1\d\d times its size"):
        read_unpacked_lines(path, catalogued())
