"""Downloads over a faulty network: a local server that truncates, stalls, is slow, refuses and returns wrong data."""

import hashlib
import logging
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
from headroom.data.downloads import Patience, download
from whole_project import ROOT

BODY = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)
TAGGED = Answer(BODY, headers={"ETag": '"one"'}, ranged=True)
RETAGGED = Answer(OTHER, headers={"ETag": '"two"'}, ranged=True)
HURRIED = Patience(tries=3, pause=0.01, timeout=0.3, limit=5.0, report=5.0)


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
    assert server.ranges == ["", "", ""], "no range requests to a server that does not identify the file's version"
    assert left(tmp_path) == ["text.gz"]


@pytest.mark.parametrize(
    ("mishap", "reason"),
    [
        (Answer(status=503), r"status 503 \(tried 3 times\)"),
        (Answer(BODY, cut=70_000), r"IncompleteRead\(70000 bytes read, 130000 more expected\) \(tried 3 times\)"),
        (Answer(BODY, wait=LONG), r"Read timed out\. \(read timeout=0\.3\) \(tried 3 times\)"),
    ],
    ids=["503", "cut", "stall"],
)
def test_what_does_not_pass_ends_soon_and_leaves_nothing(get, server, tmp_path, mishap, reason):
    start = time.monotonic()
    with pytest.raises(HeadroomError, match=reason):
        get(server.gives(mishap))
    assert time.monotonic() - start < 2.5
    assert len(server.asked) == 3
    assert left(tmp_path) == []


def test_nobody_listening_is_told_in_a_line(get, tmp_path):
    assert "Connection refused (tried 3 times)" in refused(get, "http://127.0.0.1:9/missing")
    assert left(tmp_path) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_what_will_not_change_is_not_asked_again(get, server, status):
    address = server.gives(Answer(status=status))
    assert f"from {address}: status {status};" in refused(get, address)
    assert len(server.asked) == 1


def test_a_circle_of_addresses_ends(get, server):
    address = server.gives(Answer(status=302, headers={"Location": "/text.gz"}))
    assert "Exceeded 30 redirects" in refused(get, address)


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


def test_every_address_is_named_if_none_has_it(get, server):
    address = server.gives(Answer(status=404), Answer(status=403))
    message = refused(get, f"{address}?first", f"{address}?second")
    assert f"from {address}?first: status 404; from {address}?second: status 403;" in message


def test_wrong_bytes_are_told_with_both_checksums_and_leave_nothing(get, server, tmp_path):
    message = refused(get, server.gives(replace(TAGGED, body=b"<html>log in first</html>")))
    assert f"checksum mismatch, expected sha256 {checksum(BODY)}, found" in message
    assert f"found {checksum(b'<html>log in first</html>')} (25 bytes)" in message
    assert len(server.asked) == 1
    assert left(tmp_path) == []


@pytest.mark.parametrize("announced", [True, False])
def test_more_bytes_than_there_should_be_are_not_taken(get, server, tmp_path, announced):
    address = server.gives(Answer(BODY * 50, announced=announced, drip=50_000))
    assert "larger than the expected 200000 bytes" in refused(get, address)
    assert left(tmp_path) == []


CUT = replace(TAGGED, cut=70_000)
DATED = replace(TAGGED, headers={"ETag": 'W/"weak"', "Last-Modified": "Tue, 15 Nov 1994 12:45:26 GMT"})
LYING = replace(RETAGGED, headers=TAGGED.headers)
REST = "bytes=70000-"


def part(content_range):
    return Answer(BODY[70_000:], status=206, headers={"Content-Range": content_range})


class TestResuming:
    @pytest.mark.parametrize(
        ("answers", "ranges"),
        [
            ([CUT, CUT, TAGGED], ["", REST, "bytes=140000-"]),
            ([replace(DATED, cut=10), DATED], ["", "bytes=10-"]),
            ([CUT, replace(TAGGED, ranged=False)], ["", REST]),
            ([CUT, Answer(status=416), TAGGED], ["", REST, ""]),
            ([CUT, Answer(BODY, status=206), TAGGED], ["", REST, ""]),
            ([CUT, part("bytes 70000-199999/999999"), TAGGED], ["", REST, ""]),
            ([CUT, part("bytes 7-199999/200000"), TAGGED], ["", REST, ""]),
        ],
        ids=["tag", "date", "no parts given", "nothing more", "no place", "another length", "another place"],
    )
    @pytest.mark.parametrize("known", [True, False])
    def test_only_what_is_surely_the_rest_is_added(self, get, server, tmp_path, answers, ranges, known):
        assert get(server.gives(*answers), known=known) == BODY
        assert server.ranges == ranges
        assert server.asked[1].headers["If-Range"] == {REST: '"one"'}.get(ranges[1], DATED.headers["Last-Modified"])
        assert left(tmp_path) == ["text.gz"]

    @pytest.mark.parametrize("known", [True, False])
    @pytest.mark.parametrize("careless", [True, False])
    def test_a_file_that_has_changed_is_loaded_anew(self, get, server, careless, known):
        """A careless server gives a part of the new file, but says so by its tag."""
        changed = replace(RETAGGED, careless=careless)
        assert get(server.gives(CUT, changed), body=OTHER, known=known) == OTHER
        assert server.ranges == ["", REST, ""][: 3 if careless else 2]

    def test_parts_of_two_files_that_call_themselves_one_do_not_pass(self, get, server, caplog):
        assert get(server.gives(CUT, LYING), body=OTHER) == OTHER
        assert server.ranges == ["", REST, ""]
        assert "checksum mismatch after resuming; downloading it from the start" in caplog.text

    def test_a_server_that_lies_again_and_again_is_given_up(self, get, server, tmp_path):
        assert "checksum mismatch" in refused(get, server.gives(*[CUT, LYING] * 4))
        assert server.ranges == ["", REST] * 2
        assert left(tmp_path) == []

    def test_without_end_if_each_try_gets_on(self, get, server):
        whole = Answer(BODY * 30, headers={"ETag": '"one"'}, ranged=True)
        assert get(server.gives(*[replace(whole, cut=1_200_000)] * 4, whole), body=BODY * 30) == BODY * 30
        assert len(server.asked) == 5 > HURRIED.tries

    @pytest.mark.parametrize(
        ("other", "change", "ranges"),
        [("", None, ["", REST]), ("?other", None, ["", ""]), ("", BODY, [""])],
        ids=["same address", "another address", "nothing missing"],
    )
    def test_in_a_later_call(self, get, server, tmp_path, other, change, ranges):
        address = server.gives(CUT)
        refused(get, address, patience=replace(HURRIED, tries=1))
        assert left(tmp_path) == [".text.gz.part", ".text.gz.part.json"]
        if change:
            (tmp_path / "out/.text.gz.part").write_bytes(change)
        server.answers[:] = [TAGGED]
        assert get(address + other) == BODY
        assert server.ranges == ranges
        assert left(tmp_path) == ["text.gz"]

    def test_after_a_kill(self, get, server, tmp_path):
        address = server.gives(replace(TAGGED, drip=4_000))
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
        assert left(tmp_path) == [".text.gz.part", ".text.gz.part.json"]
        have = part.stat().st_size
        server.answers[:] = [TAGGED]
        assert get(address) == BODY
        assert server.ranges == ["", f"bytes={have}-"]
        assert left(tmp_path) == ["text.gz"]

    @pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"address": 1}', b"\xff"])
    def test_a_damaged_note_is_no_note(self, get, server, tmp_path, note):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/.text.gz.part").write_bytes(b"half")
        (tmp_path / "out/.text.gz.part.json").write_bytes(note)
        assert get(server.gives(TAGGED)) == BODY
        assert server.ranges == [""]
        assert left(tmp_path) == ["text.gz"]


def test_a_trickle_is_given_up_and_gone_on_with_later(get, server, tmp_path):
    address = server.gives(replace(TAGGED, drip=100))
    start = time.monotonic()
    assert "too slow: " in refused(get, address, patience=replace(HURRIED, limit=0.3))
    assert time.monotonic() - start < 2
    have = (tmp_path / "out/.text.gz.part").stat().st_size
    assert 0 < have < len(BODY)
    server.answers[:] = [TAGGED]
    assert get(address) == BODY
    assert server.ranges == ["", f"bytes={have}-"]


def test_a_slow_file_that_keeps_its_pace_is_waited_for(get, server):
    patience = replace(HURRIED, limit=0.3, slowest=100_000)
    assert get(server.gives(Answer(BODY, drip=4_000)), patience=patience) == BODY


def test_progress_is_told(get, server, caplog):
    caplog.set_level(logging.INFO)
    get(server.gives(Answer(BODY, drip=20_000)), patience=replace(HURRIED, report=0.03))
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("text.gz: ")]
    assert 1 <= len(lines) <= 5
    assert all(line.endswith(" of 0.2 MB") for line in lines)


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
        with pytest.raises(HeadroomError, match=r"out/\.text\.gz\.part: cannot write, File too large"):
            get(server.gives(TAGGED))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left(tmp_path) == []
    (tmp_path / "out/text.gz").mkdir()
    with pytest.raises(HeadroomError, match=r"out/text\.gz: cannot write, Is a directory"):
        get(server.gives(TAGGED))
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("a file, no directory")
    with pytest.raises(HeadroomError, match=r"out/\.text\.gz\.part: cannot write"):
        get(server.gives(TAGGED))
