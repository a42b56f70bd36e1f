"""Unpacking of untrusted archives."""

import io
import random
import tarfile

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.downloads import DamagedArchiveError, extract

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
        extract(path, {"m.pt": tmp_path / "1", "dict.txt": tmp_path / "2"})
        assert ((tmp_path / "1").read_bytes(), (tmp_path / "2").read_bytes()) == (b"model", b"d"), mode
        assert left(tmp_path) == ["1", "2", "a.tar"]


def test_a_truncated_archive_is_named(tmp_path):
    path = tmp_path / "a.tar"
    for mode in MODES:
        content = archive(path, [("m.pt", random.Random(1).randbytes(230_000))], mode).read_bytes()
        for share in (0.0, 0.5, 0.95):
            path.write_bytes(content[: int(share * len(content))])
            with pytest.raises(DamagedArchiveError, match=r"a\.tar: cannot unpack"):
                extract(path, {"m.pt": tmp_path / "out"})


HOSTILE = {
    "link out": member("a/m.pt", tarfile.SYMTYPE, linkname="/etc/hostname"),
    "hard link out": member("a/m.pt", tarfile.LNKTYPE, linkname="../../../etc/hostname"),
    "hard link": member("a/m.pt", tarfile.LNKTYPE, linkname="a/other"),
    "device": member("m.pt", tarfile.CHRTYPE, devmajor=1, devminor=5),
    "disk": member("m.pt", tarfile.BLKTYPE, devmajor=8),
    "pipe": member("m.pt", tarfile.FIFOTYPE),
    "folder": member("m.pt", tarfile.DIRTYPE),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_plain_file_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(member("a/other", tarfile.REGTYPE, size=4), io.BytesIO(b"data"))
        tar.addfile(HOSTILE[kind])
    with pytest.raises(HeadroomError, match=r"m\.pt is not a regular file"):
        extract(tmp_path / "a.tar", {"m.pt": tmp_path / "out"})
    assert left(tmp_path) == ["a.tar"]


def test_what_is_missing_or_there_twice_is_refused(tmp_path):
    for members, message in (
        ([("a/other", b"o")], r"a\.tar: contains no file called m\.pt"),
        ([("a/m.pt", b"o"), ("b/m.pt", b"o")], r"two files are called m\.pt"),
    ):
        with pytest.raises(HeadroomError, match=message):
            extract(archive(tmp_path / "a.tar", members), {"m.pt": tmp_path / "out"})
