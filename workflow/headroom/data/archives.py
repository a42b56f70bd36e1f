"""Files out of a published tar archive: fetched from a mirror or the network, and only those wanted read."""

import logging
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pooch
import requests

from headroom.data import fetching
from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path, sha256

MIRROR = "released"
"""The folder of a mirror in which archives lie."""

_log = logging.getLogger(__name__)


class DamagedArchiveError(HeadroomError):
    """An archive that cannot be unpacked: to be fetched again."""


def fetch_archive(url: str, directory: Path | str, *, expected: str | None, mirror: Path | str | None) -> Path:
    """Return the path of an archive below `directory`, fetching it unless it is there already.

    The mirror is tried first: `<mirror>/released/<name of the archive>` is used where it lies. What comes
    shorter than the server announced is tried again, and is an error in the end.

    Args:
        url: Where it is published.
        directory: Where a download goes.
        expected: Its SHA-256; if it is not known, the one found is logged.
        mirror: A directory with `released/`, or None.

    Raises:
        HeadroomError: If it cannot be had or its checksum is wrong; then no part of it is left behind.
    """
    name = PurePosixPath(urlsplit(url).path).name
    if not name:
        raise HeadroomError(f"key url: {url} names no file")
    if mirror is not None and not Path(mirror).is_dir():
        raise HeadroomError(f"the mirror {mirror} is not a directory")
    mirrored = Path(mirror) / MIRROR / name if mirror is not None else None
    if mirrored is not None and mirrored.is_file():
        return checked_archive(mirrored, expected)
    path = Path(directory) / name
    if not path.is_file():
        _download(url, path)
    try:
        return checked_archive(path, expected)
    except HeadroomError:
        path.unlink()
        raise


def checked_archive(path: Path, expected: str | None) -> Path:
    """Return the path of an archive if its checksum is as expected; log it if it is not known.

    Raises:
        HeadroomError: If it is another; with both checksums.
    """
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
    """Copy regular files out of a tar archive, compressed in any way, reading it once from start to end.

    Files are found by their last name, whatever folder they are in. Nothing else is read, and nothing is
    written but the places given: a member cannot choose where it goes.

    Args:
        archive: The archive.
        wanted: Where each file goes, by its name in the archive.

    Raises:
        DamagedArchiveError: If it cannot be unpacked.
        HeadroomError: If a file is missing, there twice, or a link.
    """
    found: list[str] = []
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                if name not in wanted:
                    continue
                if name in found:
                    raise HeadroomError(f"{archive} has two files called {name}: expected one")
                stream = tar.extractfile(member) if member.isfile() else None
                if stream is None:
                    raise HeadroomError(f"{archive}: {member.name} is not a regular file")
                with atomic_path(wanted[name]) as temporary, open(temporary, "wb") as copy:
                    shutil.copyfileobj(stream, copy, 2**20)
                found.append(name)
    except (tarfile.TarError, EOFError, OSError, zlib.error, LZMAError) as error:
        raise DamagedArchiveError(f"cannot unpack {archive}: {error}; fetch it again") from error
    if missing := [name for name in wanted if name not in found]:
        raise HeadroomError(f"{archive} has no file called {missing[0]}")


def _download(url: str, path: Path) -> None:
    pooch.get_logger().setLevel(logging.WARNING)
    _log.info("downloading %s", url)
    # The library loads into a temporary file and moves it into place only when it is whole.
    source = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: None},
        urls={path.name: url},
        retry_if_failed=fetching.RETRIES,
    )
    try:
        source.fetch(path.name, downloader=pooch.HTTPDownloader(timeout=fetching.TIMEOUT))
    except (requests.RequestException, ValueError, OSError) as error:
        raise HeadroomError(
            f"cannot download {path.name} from {url}: {_reason(error)};\n"
            f"check the network, or name a mirror that has {MIRROR}/{path.name}"
        ) from error


def _reason(error: Exception) -> str:
    """Return why a download failed, in one line."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"status {error.response.status_code}"
    return " ".join(str(error).split())[-160:]
