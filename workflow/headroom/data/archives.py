"""Compressed files and published tar archives: download, selective extraction, and limits on the unpacked size.

The limits protect against decompression bombs.
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
"""The folder of archives in a mirror."""

MOST_MEMBERS = 10_000
"""Members that an archive may have; released models have about ten."""

LEAST = 2**28
"""Bytes to which any file may unpack."""

RATIO = 100
"""Maximum compression ratio of larger files. Text reaches about 10, weights hardly more than 1."""

FAULTS = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""Exceptions of the libraries for damaged files."""

_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}

_log = logging.getLogger(__name__)


class DamagedArchiveError(HeadroomError):
    """An archive that cannot be unpacked and must be downloaded again."""


def most_bytes(path: Path) -> int:
    """Return the maximum unpacked size of a compressed file in bytes."""
    return max(LEAST, RATIO * path.stat().st_size)


def check_size(path: Path, size: int) -> None:
    """Raise HeadroomError if the unpacked size of a compressed file exceeds the limit."""
    if size > most_bytes(path):
        raise HeadroomError(
            f"{path}: unpacks to {size} bytes, {size // max(1, path.stat().st_size)} times its size, a possible "
            "decompression bomb; remove the file and download it again"
        )


def read_all(path: Path, stream: IO[bytes] | BufferedIOBase) -> bytes:
    """Return the content of a compressed file that is open for reading; raise HeadroomError if it is too large."""
    content = stream.read(most_bytes(path) + 1)
    check_size(path, len(content))
    return content


class Unpacked:
    """The content of a file compressed with gzip, bzip2 or xz, or uncompressed, read from start to end.

    Raises the exceptions of `tarfile` for damaged archives, and HeadroomError if the content is too large.
    """

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as stream:
            start = stream.read(8)
        opener: Any = next((one for magic, one in _MAGIC.items() if start.startswith(magic)), open)
        self._path = path
        self._stream: IO[bytes] = opener(path, "rb")
        self._came = 0

    def read(self, amount: int) -> bytes:
        """Return at most `amount` further bytes; none at the end."""
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
    """Return the path of an archive below `directory`, downloading it unless it exists.

    The mirror is tried first: `<mirror>/released/<name of the archive>` is used in place.

    Args:
        url: Where it is published.
        directory: The directory of downloads.
        expected: Its SHA-256; if unknown, the actual one is logged.
        mirror: A directory with `released/`, the address of one, or None.
        patience: Retries and timeouts.

    Raises:
        HeadroomError: If it cannot be downloaded or its checksum is wrong; then only a part that a later call can
            resume is kept.
    """
    name = PurePosixPath(urlsplit(url).path).name
    if name in ("", ".."):
        raise HeadroomError(f"key url: {url} does not name a file; give the address of an archive")
    place = f"{MIRROR}/{name}"
    if mirrored := in_mirror(mirror, place):
        return check_archive(mirrored, expected)
    path = Path(directory) / name
    if not path.is_file():
        _log.info("downloading %s", url)
        download(addresses(mirror, place, url), path, place=place, expected=expected, patience=patience)
    try:
        return check_archive(path, expected)
    except HeadroomError:
        path.unlink()
        raise


def check_archive(path: Path, expected: str | None) -> Path:
    """Return the path of an archive if its checksum is as expected, else raise HeadroomError; log an unknown one."""
    found, size = sha256(path), path.stat().st_size
    if expected is None:
        _log.info("%s has sha256 %s (%d bytes); key sha256 would check it", path.name, found, size)
    elif found != expected:
        raise HeadroomError(
            f"{path}: checksum mismatch, expected sha256 {expected}, found {found} ({size} bytes);\n"
            "remove the file to download it again, or correct the key sha256"
        )
    return path


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy regular files out of a tar archive, compressed in any way, each by its name to its place.

    Files are found by their base name, in any folder of the archive. Only the given destinations are
    written: the names of members have no influence on them.

    Raises:
        DamagedArchiveError: If it cannot be unpacked.
        HeadroomError: If a file is missing, occurs twice, or is a link, or if the archive is too large when unpacked.
    """
    found: list[str] = []
    try:
        with closing(Unpacked(archive)) as stream, tarfile.open(fileobj=cast(Any, stream), mode="r|") as tar:
            for number, member in enumerate(tar, 1):
                name = PurePosixPath(member.name).name
                if number > MOST_MEMBERS:
                    raise HeadroomError(
                        f"{archive}: more than {MOST_MEMBERS} members; give the archive of a released model"
                    )
                if name not in wanted:
                    continue
                if name in found:
                    raise HeadroomError(f"{archive}: two files are called {name}; give an archive with one")
                _copy(tar, member, archive, wanted[name])
                found.append(name)
    except (tarfile.TarError, *FAULTS, ValueError, RecursionError) as error:  # the last two for forged headers
        raise DamagedArchiveError(f"{archive}: cannot unpack, {error}; download it again") from error
    if missing := [name for name in wanted if name not in found]:
        raise HeadroomError(f"{archive}: contains no file called {missing[0]}; check the key files")


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: Path, place: Path) -> None:
    """Write one member, if it is a plain file that fits on the disk."""
    stream = tar.extractfile(member) if member.isfile() and not member.issparse() else None
    if stream is None:
        raise HeadroomError(f"{archive}: {member.name} is not a regular file; give an archive without links")
    check_size(archive, member.size)
    with atomic_path(place) as temporary, open(temporary, "wb") as copy:
        if member.size > (free := shutil.disk_usage(temporary.parent).free):
            raise HeadroomError(f"{place}: cannot write {member.size} bytes, {free} are free; free space on the disk")
        shutil.copyfileobj(stream, copy, 2**20)
