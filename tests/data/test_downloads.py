"""Downloads over a faulty network: a local server that truncates, stalls, is slow, refuses and returns wrong data."""

import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from faulty_server import LONG, Answer
from headroom.core.errors import HeadroomError
from headroom.data.downloads import CHUNK, Patience, download
from study import ROOT

BODY = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)
RANGED = Answer(BODY, ranged=True)
HURRIED = Patience(tries=3, pause=0.01, timeout=0.3, limit=5.0)


def checksum(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def get(tmp_path):
    """Return a function that downloads a file into `tmp_path` and returns its content."""

    def load(*addresses, patience=HURRIED, body=BODY, known=True):
        about = {"expected": checksum(body), "size": len(body)} if known else {"expected": None}
        download(addresses, tmp_path / "out/text.gz", place="set/text.gz", patience=patience, **about)
        return (tmp_path / "out/text.gz").read_bytes()

    return load


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def refused(get, *addresses, patience=HURRIED):
    """Return the message of a download that fails: two lines at most."""
    with pytest.raises(HeadroomError) as caught:
        get(*addresses, patience=patience)
    message = str(caught.value)
    assert message.startswith("text.gz: cannot download from http")
    assert message.endswith(";\ncheck the network, or give a mirror with set/text.gz")
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize("known", [True, False])
def test_a_file_comes_whole_and_alone(get, server, tmp_path, known):
    assert get(server.gives(Answer(BODY)), known=known) == BODY
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
        Answer(BODY, wait=LONG),
    ],
    ids=["no byte", "cut", "503", "429", "stall"],
)
def test_what_may_pass_is_tried_again(get, server, tmp_path, mishap):
    assert get(server.gives(mishap, mishap, Answer(BODY))) == BODY
    assert len(server.asked) == 3
    assert left(tmp_path) == ["text.gz"]


@pytest.mark.parametrize(
    ("mishap", "reason"),
    [
        (Answer(status=503), "status 503"),
        (Answer(BODY, cut=70_000), r"IncompleteRead\(70000 bytes read, 130000 more expected\)"),
        (Answer(BODY, wait=LONG), r"Read timed out\. \(read timeout=0\.3\)"),
    ],
    ids=["503", "cut", "stall"],
)
def test_what_does_not_pass_ends_soon(get, server, tmp_path, mishap, reason):
    start = time.monotonic()
    with pytest.raises(HeadroomError, match=reason):
        get(server.gives(mishap))
    assert time.monotonic() - start < 2.5
    assert len(server.asked) == 3
    assert not (tmp_path / "out/text.gz").exists()
    with pytest.raises(HeadroomError, match=reason):
        get(server.gives(mishap), known=False)
    assert left(tmp_path / "out") in ([], [".text.gz.part"])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_what_will_not_change_is_not_asked_again(get, server, status):
    address = server.gives(Answer(status=status))
    assert f"from {address}: status {status};" in refused(get, address)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "bad", [Answer(status=404), Answer(status=503), Answer(OTHER)], ids=["missing", "busy", "wrong"]
)
def test_the_next_address_is_tried(get, server, tmp_path, bad, caplog):
    tries = 3 if bad.status == 503 else 1
    address = server.gives(*[bad] * tries, Answer(BODY))
    assert get(f"{address}?first", f"{address}?second") == BODY
    assert [asked.path for asked in server.asked] == ["/text.gz?first"] * tries + ["/text.gz?second"]
    assert f"text.gz: cannot download from {address}?first" in caplog.text
    assert left(tmp_path) == ["text.gz"]


def test_wrong_bytes_are_told_with_both_checksums_and_leave_nothing(get, server, tmp_path):
    page = b"<html>log in first</html>"
    message = refused(get, server.gives(replace(RANGED, body=page)))
    assert f"expected {checksum(BODY)} but got {checksum(page)}" in message
    assert len(server.asked) == 1
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
        assert len(server.asked) == 5 > HURRIED.tries

    @pytest.mark.parametrize("part", [BODY[:70_000], BODY, OTHER, BODY + OTHER, b""])
    def test_in_a_later_call(self, get, server, tmp_path, part):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/.text.gz.part").write_bytes(part)
        assert get(server.gives(RANGED)) == BODY
        assert left(tmp_path) == ["text.gz"]

    def test_after_a_kill(self, get, server, tmp_path):
        address = server.gives(replace(RANGED, drip=4_000))
        part = tmp_path / "out/.text.gz.part"
        code = (
            "import pathlib, sys; from headroom.data.downloads import download; "
            f"download([sys.argv[1]], pathlib.Path(sys.argv[2]), place='', expected='{checksum(BODY)}')"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, address, str(tmp_path / "out/text.gz")],
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
        )
        while process.poll() is None and not (part.is_file() and part.stat().st_size > 20_000):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        have = part.stat().st_size
        server.answers[:] = [RANGED]
        assert get(address) == BODY
        assert server.ranges == ["", f"bytes={have}-"]


def test_a_trickle_is_given_up_and_gone_on_with_later(get, server, tmp_path):
    address = server.gives(replace(RANGED, drip=800))
    start = time.monotonic()
    assert "too slow: " in refused(get, address, patience=replace(HURRIED, limit=0.3, slowest=1e6))
    assert time.monotonic() - start < 2
    have = (tmp_path / "out/.text.gz.part").stat().st_size
    assert 0 < have < len(BODY)
    server.answers[:] = [RANGED]
    assert get(address) == BODY
    assert server.ranges == ["", f"bytes={have}-"]


def test_a_slow_file_that_keeps_its_pace_is_waited_for(get, server):
    patience = replace(HURRIED, limit=0.3, slowest=100_000)
    assert get(server.gives(Answer(BODY, drip=4_000)), patience=patience) == BODY


def test_an_older_file_stays_until_the_new_one_is_whole(get, server, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/text.gz").write_bytes(b"older")
    refused(get, server.gives(Answer(BODY, cut=70_000)))
    assert (tmp_path / "out/text.gz").read_bytes() == b"older"
    assert get(server.gives(Answer(BODY))) == BODY


def test_what_cannot_be_written_is_told_and_leaves_nothing(get, server, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write, File too large"):
            get(server.gives(RANGED))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left(tmp_path) == []
    (tmp_path / "out/text.gz").mkdir()
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write, Is a directory"):
        get(server.gives(RANGED))
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("a file, no directory")
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write"):
        get(server.gives(RANGED))
