"""Packed files and published tar archives: fetched, only what is wanted read, and never unpacked without end.

A few bytes can be made to unpack to what fills a disk or the memory.
"""

import bz2
import gzip
import logging
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from contextlib import closing
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import urlsplit

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, sha256
from headroom.data.downloads import PATIENCE, Patience, addresses, download, in_mirror

MIRROR = "released"
"""The folder of a mirror in which archives lie."""

MOST_MEMBERS = 10_000
"""Members that an archive may have; released models have about ten."""

LEAST = 2**28
"""Bytes that any file may unpack to."""

RATIO = 100
"""How many times its own size a larger file may unpack to. Text comes to 10 times, weights to hardly more than one."""

FAULTS = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What the libraries raise for damaged files."""

_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}

_log = logging.getLogger(__name__)


class DamagedArchiveError(HeadroomError):
    """An archive that cannot be unpacked: to be fetched again."""


def most_bytes(path: Path) -> int:
    """Return how many bytes a packed file may unpack to."""
    return max(LEAST, RATIO * path.stat().st_size)


def check_size(path: Path, size: int) -> None:
    """Raise HeadroomError if a packed file says that it unpacks to more than it may."""
    if size > most_bytes(path):
        raise HeadroomError(
            f"{path} unpacks to {size} bytes, {size // max(1, path.stat().st_size)} times its size: it is no honest "
            "archive, or damaged"
        )


def read_all(path: Path, stream: IO[bytes] | BufferedIOBase) -> bytes:
    """Return the content of a packed file that is open for reading, or raise HeadroomError where it is too much."""
    content = stream.read(most_bytes(path) + 1)
    check_size(path, len(content))
    return content


class Unpacked:
    """The content of a file packed with gzip, bzip2 or xz, or not packed at all, read from start to end.

    It raises what `tarfile` raises for damaged archives, and HeadroomError where it would become too much.
    """

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as stream:
            start = stream.read(8)
        opener: Any = next((one for magic, one in _MAGIC.items() if start.startswith(magic)), open)
        self._path = path
        self._stream: IO[bytes] = opener(path, "rb")
        self._came = 0

    def read(self, amount: int) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        try:
            data = self._stream.read(amount)
        except FAULTS as error:
            raise tarfile.ReadError(str(error)) from error
        self._came += len(data)
        check_size(self._path, self._came)
        return data

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def fetch_archive(
    url: str, directory: Path | str, *, expected: str | None, mirror: Path | str | None, patience: Patience = PATIENCE
) -> Path:
    """Return the path of an archive below `directory`, fetching it unless it is there already.

    The mirror is tried first: `<mirror>/released/<name of the archive>` is used where it lies.

    Args:
        url: Where it is published.
        directory: Where a download goes.
        expected: Its SHA-256; if it is not known, the one found is logged.
        mirror: A directory with `released/`, the address of one, or None.
        patience: How long is waited.

    Raises:
        HeadroomError: If it cannot be had or its checksum is wrong; then no part of it is left behind but what
            a later call can go on from.
    """
    name = PurePosixPath(urlsplit(url).path).name
    if name in ("", ".."):
        raise HeadroomError(f"key url: {url} names no file")
    place = f"{MIRROR}/{name}"
    if mirrored := in_mirror(mirror, place):
        return checked_archive(mirrored, expected)
    path = Path(directory) / name
    if not path.is_file():
        _log.info("downloading %s", url)
        download(addresses(mirror, place, url), path, place=place, expected=expected, patience=patience)
    try:
        return checked_archive(path, expected)
    except HeadroomError:
        path.unlink()
        raise


def checked_archive(path: Path, expected: str | None) -> Path:
    """Return the path of an archive if its checksum is as expected, else raise HeadroomError; log an unknown one."""
    found, size = sha256(path), path.stat().st_size
    if expected is None:
        _log.info("%s has sha256 %s (%d bytes); key sha256 would check it", path.name, found, size)
    elif found != expected:
        raise HeadroomError(
            f"{path}: wrong checksum, expected sha256 {expected}, found {found} ({size} bytes);\n"
            "remove the file to fetch it again, or correct the key sha256"
        )
    return path


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy regular files out of a tar archive, compressed in any way, each by its name to its place.

    Files are found by their last name, whatever folder they are in. Nothing else is read, and nothing is
    written but the places given: a member cannot choose where it goes.

    Raises:
        DamagedArchiveError: If it cannot be unpacked.
        HeadroomError: If a file is missing, there twice, or a link, or if the archive unpacks to too much.
    """
    found: list[str] = []
    try:
        with closing(Unpacked(archive)) as stream, tarfile.open(fileobj=cast(Any, stream), mode="r|") as tar:
            for number, member in enumerate(tar, 1):
                name = PurePosixPath(member.name).name
                if number > MOST_MEMBERS:
                    raise HeadroomError(f"{archive} has more than {MOST_MEMBERS} members: it is no released model")
                if name not in wanted:
                    continue
                if name in found:
                    raise HeadroomError(f"{archive} has two files called {name}: expected one")
                _copy(tar, member, archive, wanted[name])
                found.append(name)
    except (tarfile.TarError, *FAULTS, ValueError, RecursionError) as error:  # the last two of made-up headers
        raise DamagedArchiveError(f"cannot unpack {archive}: {error}; fetch it again") from error
    if missing := [name for name in wanted if name not in found]:
        raise HeadroomError(f"{archive} has no file called {missing[0]}")


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: Path, place: Path) -> None:
    """Write one member, if it is a plain file that fits on the disk."""
    stream = tar.extractfile(member) if member.isfile() and not member.issparse() else None
    if stream is None:
        raise HeadroomError(f"{archive}: {member.name} is not a regular file")
    check_size(archive, member.size)
    with atomic_path(place) as temporary, open(temporary, "wb") as copy:
        if member.size > (free := shutil.disk_usage(temporary.parent).free):
            raise HeadroomError(f"cannot write {place}: it takes {member.size} bytes, and {free} are free")
        shutil.copyfileobj(stream, copy, 2**20)
