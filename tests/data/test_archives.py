"""Unpacking of untrusted archives."""

import bz2
import gzip
import io
import lzma
import random
import tarfile

import pytest
from headroom.core.errors import HeadroomError
from headroom.data import archives
from headroom.data.archives import DamagedArchiveError, extract

MODES = ("w", "w:gz", "w:bz2", "w:xz")


def archive(path, members, mode="w:bz2"):
    """Write a tar archive of (name, content) and return its path; content None makes a link."""
    with tarfile.open(path, mode) as tar:
        for name, content in members:
            if content is None:
                tar.addfile(member(name, tarfile.SYMTYPE, linkname="/etc/hostname"))
            else:
                tar.addfile(member(name, tarfile.REGTYPE, size=len(content)), io.BytesIO(content))
    return path


def member(name, kind, **about):
    """Return the header of a member."""
    made = tarfile.TarInfo(name)
    made.type = kind
    for key, value in about.items():
        setattr(made, key, value)
    return made


def left(directory):
    """Return the names of all files below a directory."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_only_what_is_wanted_is_read_and_goes_where_it_should(tmp_path):
    members = [("../../m.pt", b"model"), ("/x/dict.txt", b"d"), ("a/other", b"o"), ("a/link", None)]
    for mode in MODES:
        path = archive(tmp_path / "a.tar", members, mode)
        extract(path, {"m.pt": tmp_path / "out/1", "dict.txt": tmp_path / "out/2"})
        assert ((tmp_path / "out/1").read_bytes(), (tmp_path / "out/2").read_bytes()) == (b"model", b"d"), mode
        assert left(tmp_path) == ["1", "2", "a.tar"]


def test_a_truncated_archive_is_named(tmp_path):
    path = tmp_path / "a.tar"
    for mode in MODES:
        content = archive(path, [("m.pt", random.Random(1).randbytes(230_000))], mode).read_bytes()
        for share in (0.0, 0.5, 0.95):
            path.write_bytes(content[: int(share * len(content))])
            with pytest.raises(DamagedArchiveError, match=r"a\.tar: cannot unpack"):
                extract(path, {"m.pt": tmp_path / "out"})
            assert left(tmp_path) == ["a.tar"], (mode, share)


SPARSE = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(2**50), "GNU.sparse.map": "0,0"}
"""One block says that it is a file of a petabyte of zeros."""

HOSTILE = {
    "link out": member("a/m.pt", tarfile.SYMTYPE, linkname="/etc/hostname"),
    "hard link out": member("a/m.pt", tarfile.LNKTYPE, linkname="../../../etc/hostname"),
    "hard link": member("a/m.pt", tarfile.LNKTYPE, linkname="a/other"),
    "device": member("m.pt", tarfile.CHRTYPE, devmajor=1, devminor=5),
    "disk": member("m.pt", tarfile.BLKTYPE, devmajor=8),
    "pipe": member("m.pt", tarfile.FIFOTYPE),
    "folder": member("m.pt", tarfile.DIRTYPE),
    "file with holes": member("m.pt", tarfile.REGTYPE, pax_headers={**SPARSE, "GNU.sparse.name": "m.pt"}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_plain_file_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(member("a/other", tarfile.REGTYPE, size=4), io.BytesIO(b"data"))
        tar.addfile(HOSTILE[kind])
    with pytest.raises(HeadroomError, match=r"m\.pt is not a regular file"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


def test_what_is_missing_twice_or_among_too_many_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 50)
    for members, message in (
        ([("a/other", b"o")], r"a\.tar: contains no file called m\.pt"),
        ([("a/m.pt", b"o"), ("b/m.pt", b"o")], r"two files are called m\.pt"),
        ([(f"{number}", b"") for number in range(51)], r"a\.tar: more than 50 members"),
    ):
        with pytest.raises(HeadroomError, match=message):
            extract(archive(tmp_path / "a.tar", members), {"m.pt": tmp_path / "out"})


BOMB = bytes(10_000_000)


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lambda data: lzma.compress(data, preset=0)])
def test_a_bomb_is_refused_before_it_unpacks(tmp_path, monkeypatch, pack):
    """In what is wanted, in what is passed over, and in a header, which tarfile reads into memory."""
    monkeypatch.setattr(archives, "LEAST", 1_000_000)
    wanted, other = (
        archive(tmp_path / "a.tar", [(name, BOMB), ("last/m.pt", b"")], "w").read_bytes() for name in ("m.pt", "other")
    )
    header = member("././@PaxHeader", tarfile.XHDTYPE, size=len(BOMB)).tobuf() + BOMB
    for content in (wanted, other, header):
        (tmp_path / "a.tar").write_bytes(pack(content))
        with pytest.raises(HeadroomError, match=r"a\.tar: unpacks to \d+ bytes, \d+ times its size"):
            extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
        assert left(tmp_path) == ["a.tar"]


def test_more_than_the_disk_holds_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LEAST", 2**60)
    header = member("m.pt", tarfile.REGTYPE, size=2**50).tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "a.tar").write_bytes(header + bytes(10_240))
    with pytest.raises(HeadroomError, match=rf"out: cannot write {2**50} bytes, \d+ are free"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]
