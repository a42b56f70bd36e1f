"""Downloads with checksums, resumable, and archives that are read without unpacking more than what is asked for."""

import logging
import lzma
import os
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pooch
import requests

from headroom.core.errors import HeadroomError
from headroom.core.files import cannot_write, sha256

TRIES = 3
"""How often a download is tried at each address."""

TIMEOUT = 30.0
"""Seconds without an answer or a byte after which a try fails."""

_log = logging.getLogger(__name__)
pooch.get_logger().setLevel(logging.WARNING)


def fetch_file(
    url: str, destination: Path, *, place: str, expected: str | None, mirror: Path | str | None, about: str = ""
) -> Path:
    """Return the path of a published file: in a mirror directory, or at `destination`, to where it is downloaded.

    A mirror on the network is tried before the publisher. An existing file is kept until the new one is complete, and
    is not downloaded again if its checksum is as expected.

    Args:
        url: Its address at the publisher.
        destination: Its path if it is downloaded.
        place: Its path in a mirror, e.g. `multi30k/train.en.gz`.
        expected: Its SHA-256, if known.
        mirror: A directory, the address of one, or None.
        about: What is said of it in the log.

    Raises:
        HeadroomError: If all addresses fail, with the reason of each, if its checksum is wrong, or if it cannot be
            written.
    """
    is_address = str(mirror).startswith(("http://", "https://"))
    if mirror is not None and not is_address:
        if not Path(mirror).is_dir():  # the same study runs on machines with and without it
            _log.warning("mirror %s: not a directory on this machine; downloading instead", mirror)
        elif (path := Path(mirror) / place).is_file():
            verify(path, expected, "replace the file in the mirror, or remove it to download it")
            return path
    addresses = [f"{str(mirror).rstrip('/')}/{place}", url] if is_address else [url]
    reasons = []
    for address in addresses:
        try:
            _download(address, destination, expected, about)
            if expected is None:
                verify(destination, None, "")
            return destination
        except (requests.RequestException, ValueError) as error:
            reasons.append(f"from {address}: {_reason(error)}")
            _log.warning("%s: cannot download %s", destination.name, reasons[-1])
        except OSError as error:
            raise cannot_write(destination, error) from error
    raise HeadroomError(
        f"{destination.name}: cannot download {'; '.join(reasons)};\ncheck the network, or give a mirror with {place}"
    )


def verify(path: Path, expected: str | None, remedy: str) -> None:
    """Raise HeadroomError, with a remedy, if the checksum of a file is not as expected; log an unknown one."""
    found, size = sha256(path), path.stat().st_size
    if expected is None:
        _log.info("%s has sha256 %s (%d bytes); key sha256 would check it", path.name, found, size)
    elif found != expected:
        raise HeadroomError(
            f"{path}: checksum mismatch, expected sha256 {expected}, found {found} ({size} bytes);\n{remedy}"
        )


def _download(address: str, destination: Path, expected: str | None, about: str) -> None:
    """Download a file from an address unless it is there; the checksum is that of the unencoded file."""
    load = pooch.HTTPDownloader(timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})

    def downloader(url: str, output_file: str, store: Any) -> None:
        _log.info("downloading %s%s", url, about)
        os.unlink(output_file)  # made for its owner alone
        load(url, output_file, store)

    name = destination.name
    store = pooch.create(
        destination.parent, "", registry={name: expected}, urls={name: address}, retry_if_failed=TRIES - 1
    )
    store.fetch(name, downloader=downloader)


def _reason(error: Exception) -> str:
    """Return the innermost cause of a failed try, in one line."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"status {error.response.status_code}"
    causes = [one for one in (*error.args, getattr(error, "reason", None)) if isinstance(one, Exception)]
    return _reason(causes[-1]) if causes else " ".join(str(error).split()).partition(". Deleted")[0][-240:]


MIRROR = "released"
"""The folder of archives in a mirror."""

FAULTS = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""Exceptions of the libraries for damaged files."""


class DamagedArchiveError(HeadroomError):
    """An archive that cannot be unpacked and must be downloaded again."""


def fetch_archive(url: str, directory: Path | str, *, expected: str | None, mirror: Path | str | None) -> Path:
    """Return the path of an archive: `<mirror>/released/<its name>`, or below `directory`, to where it is downloaded.

    Raises:
        HeadroomError: If it cannot be downloaded or its checksum is wrong.
    """
    name = PurePosixPath(urlsplit(url).path).name
    if name in ("", ".."):
        raise HeadroomError(f"key url: {url} does not name a file; give the address of an archive")
    return fetch_file(url, Path(directory) / name, place=f"{MIRROR}/{name}", expected=expected, mirror=mirror)


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy regular files out of a tar archive, compressed in any way, each by its name to its place.

    Files are found by their base name, in any folder of the archive. Only the given destinations are
    written: the names of members have no influence on them, and no filter is needed.

    Raises:
        DamagedArchiveError: If it cannot be unpacked.
        HeadroomError: If a file is missing, occurs twice, or is a link.
    """
    found: list[str] = []
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                if name not in wanted:
                    continue
                if name in found:
                    raise HeadroomError(f"{archive}: two files are called {name}; give an archive with one")
                stream = tar.extractfile(member) if member.isfile() else None
                if stream is None:
                    raise HeadroomError(
                        f"{archive}: {member.name} is not a regular file; give an archive without links"
                    )
                with open(wanted[name], "wb") as copy:
                    shutil.copyfileobj(stream, copy, 2**20)
                found.append(name)
    except (tarfile.TarError, *FAULTS, ValueError, RecursionError) as error:  # the last two for forged headers
        if getattr(error, "errno", None):
            raise cannot_write(next(iter(wanted.values())).parent, error) from error
        raise DamagedArchiveError(f"{archive}: cannot unpack, {error}; download it again") from error
    if missing := [name for name in wanted if name not in found]:
        raise HeadroomError(f"{archive}: contains no file called {missing[0]}; check the key files")
