"""Archives: fetched from mirrors and a server on this machine, and unpacked without trust."""

import hashlib
import io
import logging
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from headroom.data import fetching
from headroom.data.archives import extract, fetch_archive
from headroom.ground.errors import HeadroomError


def archive(path, members, mode="w:bz2"):
    """Write a tar archive of (name, content) and return its path; content None makes a link."""
    with tarfile.open(path, mode) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/hostname"
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


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
    yield f"http://127.0.0.1:{running.server_port}/models/big.tar.bz2?x=1", answers, asked
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let every pause between two tries be short, and the time for an answer too."""
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    monkeypatch.setattr(fetching, "TIMEOUT", 2.0)


def left(directory):
    """Return the names of all files below a directory."""
    return [path.name for path in directory.rglob("*") if path.is_file()]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_only_what_is_wanted_is_read_and_goes_where_it_should(tmp_path, mode):
    members = [("../../m.pt", b"model"), ("/x/dict.txt", b"d"), ("a/other", b"o"), ("a/link", None)]
    path = archive(tmp_path / "a.tar", members, mode)
    extract(path, {"m.pt": tmp_path / "out/1", "dict.txt": tmp_path / "out/2"})
    assert (tmp_path / "out/1").read_bytes() == b"model"
    assert (tmp_path / "out/2").read_bytes() == b"d"
    assert sorted(left(tmp_path)) == ["1", "2", "a.tar"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("a/other", b"o")], r"a\.tar has no file called m\.pt"),
        ([("a/m.pt", b"o"), ("b/m.pt", b"o")], r"two files called m\.pt"),
        ([("a/m.pt", None)], r"a/m\.pt is not a regular file"),
    ],
)
def test_what_is_missing_twice_or_a_link_is_refused(tmp_path, members, message):
    with pytest.raises(HeadroomError, match=message):
        extract(archive(tmp_path / "a.tar", members), {"m.pt": tmp_path / "out"})


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_truncated_archive_is_named(tmp_path, share):
    content = archive(tmp_path / "a.tar", [("m.pt", bytes(range(256)) * 900)]).read_bytes()
    (tmp_path / "a.tar").write_bytes(content[: int(share * len(content))])
    with pytest.raises(HeadroomError, match=r"cannot unpack .*a\.tar"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


def test_what_is_no_archive_is_named(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"<html>not here</html>" * 100)
    with pytest.raises(HeadroomError, match=r"cannot unpack .*a\.tar: .*; fetch it again"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    with pytest.raises(HeadroomError, match=r"cannot unpack .*gone"):
        extract(tmp_path / "gone", {"m.pt": tmp_path / "out"})


def test_mirror_is_tried_first_and_nothing_is_copied(tmp_path, server):
    url, _, asked = server
    (tmp_path / "mirror/released").mkdir(parents=True)
    (tmp_path / "mirror/released/big.tar.bz2").write_bytes(b"whole")
    path = fetch_archive(url, tmp_path / "out", expected=None, mirror=tmp_path / "mirror")
    assert path == tmp_path / "mirror/released/big.tar.bz2"
    assert asked == []
    with pytest.raises(HeadroomError, match=r"released/big\.tar\.bz2: wrong checksum, expected sha256 a+, found"):
        fetch_archive(url, tmp_path / "out", expected="a" * 64, mirror=tmp_path / "mirror")
    assert path.exists(), "a mirror is not written to"
    with pytest.raises(HeadroomError, match="nowhere is not a directory"):
        fetch_archive(url, tmp_path / "out", expected=None, mirror=tmp_path / "nowhere")


def test_download_is_kept_and_an_unknown_checksum_is_logged(tmp_path, server, caplog):
    url, answers, asked = server
    answers.append((200, b"whole", 5))
    (tmp_path / "mirror").mkdir()
    caplog.set_level(logging.INFO)
    path = fetch_archive(url, tmp_path / "out", expected=None, mirror=tmp_path / "mirror")
    found = hashlib.sha256(b"whole").hexdigest()
    assert (path, path.read_bytes()) == (tmp_path / "out/big.tar.bz2", b"whole")
    assert f"big.tar.bz2 has sha256 {found} (5 bytes)" in caplog.text
    assert fetch_archive(url, tmp_path / "out", expected=found, mirror=None) == path
    assert len(asked) == 1, "a file that is there is not fetched again"


def test_wrong_checksum_leaves_nothing(tmp_path, server):
    url, answers, _ = server
    answers.append((200, b"whole", 5))
    found = hashlib.sha256(b"whole").hexdigest()
    with pytest.raises(HeadroomError, match=rf"expected sha256 {'a' * 64}, found {found} \(5 bytes\)"):
        fetch_archive(url, tmp_path / "out", expected="a" * 64, mirror=None)
    assert left(tmp_path / "out") == []


def test_a_download_that_ends_early_is_tried_again(tmp_path, server):
    url, answers, asked = server
    answers += [(200, b"wh", 5), (200, b"whole", 5)]
    assert fetch_archive(url, tmp_path / "out", expected=None, mirror=None).read_bytes() == b"whole"
    assert len(asked) == 2


@pytest.mark.parametrize(("answer", "message"), [((404, b"", 0), "status 404"), ((200, b"wh", 5), "2 bytes read")])
def test_a_download_that_fails_is_named_and_leaves_nothing(tmp_path, server, answer, message):
    url, answers, _ = server
    answers.append(answer)
    with pytest.raises(HeadroomError, match=r"cannot download big\.tar\.bz2 from http") as caught:
        fetch_archive(url, tmp_path / "out", expected=None, mirror=None)
    assert message in str(caught.value)
    assert str(caught.value).count("\n") == 1
    assert "mirror that has released/big.tar.bz2" in str(caught.value)
    assert left(tmp_path / "out") == []


def test_a_url_without_a_file_is_refused(tmp_path):
    with pytest.raises(HeadroomError, match=r"key url: http://127\.0\.0\.1:9/ names no file"):
        fetch_archive("http://127.0.0.1:9/", tmp_path, expected=None, mirror=None)
