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
        ([("a/other", b"o")], r"a\.tar: contains no file called m\.pt"),
        ([("a/m.pt", b"o"), ("b/m.pt", b"o")], r"two files are called m\.pt"),
    ],
)
def test_what_is_missing_or_there_twice_is_refused(tmp_path, members, message):
    with pytest.raises(HeadroomError, match=message):
        extract(archive(tmp_path / "a.tar", members), {"m.pt": tmp_path / "out"})


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_truncated_archive_is_named(tmp_path, mode, share):
    content = archive(tmp_path / "a.tar", [("m.pt", random.Random(1).randbytes(230_000))], mode).read_bytes()
    (tmp_path / "a.tar").write_bytes(content[: int(share * len(content))])
    with pytest.raises(DamagedArchiveError, match=r"a\.tar: cannot unpack"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


def member(name, kind, **about):
    """Return a member of a tar archive other than a plain file."""
    made = tarfile.TarInfo(name)
    made.type = kind
    for key, value in about.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    "hostile",
    [
        member("a/m.pt", tarfile.SYMTYPE, linkname="/etc/hostname"),
        member("a/m.pt", tarfile.LNKTYPE, linkname="../../../etc/hostname"),
        member("a/m.pt", tarfile.LNKTYPE, linkname="a/other"),
        member("m.pt", tarfile.CHRTYPE, devmajor=1, devminor=5),
        member("m.pt", tarfile.BLKTYPE, devmajor=8),
        member("m.pt", tarfile.FIFOTYPE),
        member("m.pt", tarfile.DIRTYPE),
    ],
    ids=["link out", "hard link out", "hard link", "device", "disk", "pipe", "folder"],
)
def test_links_devices_and_folders_are_no_files(tmp_path, hostile):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        other = tarfile.TarInfo("a/other")
        other.size = 4
        tar.addfile(other, io.BytesIO(b"data"))
        tar.addfile(hostile)
    with pytest.raises(HeadroomError, match=r"m\.pt is not a regular file"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


BOMB = bytes(10_000_000)


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lambda data: lzma.compress(data, preset=0)])
@pytest.mark.parametrize("name", ["m.pt", "other"])
def test_a_bomb_is_refused_before_it_unpacks(tmp_path, monkeypatch, pack, name):
    monkeypatch.setattr(archives, "LEAST", 1_000_000)
    archive(tmp_path / "bomb.tar", [(name, BOMB), ("last/m.pt", b"")], "w")
    (tmp_path / "bomb").write_bytes(pack((tmp_path / "bomb.tar").read_bytes()))
    (tmp_path / "bomb.tar").unlink()
    with pytest.raises(HeadroomError, match=r"bomb: unpacks to \d+ bytes, \d+ times its size"):
        extract(tmp_path / "bomb", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["bomb"]


def test_a_header_that_is_a_bomb_is_refused(tmp_path, monkeypatch):
    """The header itself, which tarfile reads into memory, is ten megabytes long."""
    monkeypatch.setattr(archives, "LEAST", 1_000_000)
    header = member("././@PaxHeader", tarfile.XHDTYPE, size=len(BOMB)).tobuf()
    (tmp_path / "bomb.tar.bz2").write_bytes(bz2.compress(header + BOMB))
    with pytest.raises(HeadroomError, match=r"bomb\.tar\.bz2: unpacks to"):
        extract(tmp_path / "bomb.tar.bz2", {"m.pt": tmp_path / "out"})


def test_a_file_with_holes_is_not_filled(tmp_path):
    """One block says that it is a file of a petabyte of zeros."""
    sparse = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(2**50), "GNU.sparse.map": "0,0"}
    made = member("m.pt", tarfile.REGTYPE, pax_headers={**sparse, "GNU.sparse.name": "m.pt"})
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(made)
    with pytest.raises(HeadroomError, match=r"m\.pt is not a regular file"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})


def test_more_than_the_disk_holds_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LEAST", 2**60)
    header = member("m.pt", tarfile.REGTYPE, size=2**50).tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "a.tar").write_bytes(header + bytes(10_240))
    with pytest.raises(HeadroomError, match=rf"out: cannot write {2**50} bytes, \d+ are free"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 50)
    path = archive(tmp_path / "a.tar", [(f"{number}", b"") for number in range(51)])
    with pytest.raises(HeadroomError, match=r"a\.tar: more than 50 members"):
        extract(path, {"m.pt": tmp_path / "out"})
