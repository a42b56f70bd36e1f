"""Files of the catalogue, from a mirror or from the network: whole and right, or not there."""

import gzip
import logging
import re
import shutil
import zlib
from pathlib import Path

import pooch
import requests

from headroom.data.catalogue import CatalogueFile
from headroom.data.published import PublishedFile
from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path, sha256

RETRIES = 3
"""How often a download is tried again; the pause grows by a second each time."""

TIMEOUT = 30.0
"""Seconds without an answer after which a try has failed."""

File = CatalogueFile | PublishedFile
"""What can be fetched: a place in a mirror, a URL, a size and a checksum."""

_log = logging.getLogger(__name__)


def fetch(file: File, directory: Path | str, *, mirror: Path | str | None = None) -> Path:
    """Return the path of a catalogued file below `directory`, fetching it unless it is there already.

    The mirror is tried first: a directory in which the file lies at `file.path`. A file in the mirror that is
    not the catalogued one is an error, so that a broken mirror does not go unnoticed.

    Raises:
        HeadroomError: If the file cannot be had or its checksum is wrong; then nothing is left behind.
    """
    destination = Path(directory) / file.path
    if destination.is_file() and sha256(destination) == file.sha256:
        return destination
    if mirror is not None and not Path(mirror).is_dir():
        raise HeadroomError(f"the mirror {mirror} is not a directory")
    if mirror is not None and (Path(mirror) / file.path).is_file():
        _copy(Path(mirror) / file.path, file, destination)
    else:
        _download(file, destination)
    return destination


def unpacked_lines(path: Path, file: File) -> list[str]:
    r"""Return the lines of a fetched file, split at "\n" alone, unpacked if its name ends in .gz.

    Raises:
        HeadroomError: If it cannot be unpacked, is not UTF-8, or has not the catalogued number of lines.
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise HeadroomError(f"cannot unpack {path}: {error}") from error
    if file.lines is not None and len(lines) != file.lines:
        raise HeadroomError(f"{path} has {len(lines)} lines, expected {file.lines}")
    return lines


def _copy(original: Path, file: File, destination: Path) -> None:
    with atomic_path(destination) as temporary:
        try:
            shutil.copyfile(original, temporary)
        except OSError as error:
            raise HeadroomError(f"cannot read {original}: {error.strerror}") from error
        found, size = sha256(temporary), temporary.stat().st_size
        if found != file.sha256:
            raise HeadroomError(
                f"{original}: wrong checksum, expected sha256 {file.sha256} ({file.bytes} bytes), "
                f"found {found} ({size} bytes);\nreplace the file in the mirror, or remove it to download it"
            )


def _download(file: File, destination: Path) -> None:
    pooch.get_logger().setLevel(logging.WARNING)
    _log.info("downloading %s (%d bytes; licence: %s)", file.url, file.bytes, file.licence)
    # The library loads into a temporary file and moves it into place only when the checksum is right.
    source = pooch.create(
        path=destination.parent,
        base_url="",
        registry={destination.name: f"sha256:{file.sha256}"},
        urls={destination.name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        source.fetch(destination.name, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))
    except ValueError as error:
        raise HeadroomError(_mismatch(file, str(error))) from error
    except (requests.RequestException, OSError) as error:
        raise HeadroomError(
            f"cannot download {file.path} from {file.url}: {_reason(error)};\n"
            "check the network, or name a mirror that has the file"
        ) from error


def _mismatch(file: File, message: str) -> str:
    found = re.search(r"but got (?:sha256:)?'?([0-9a-f]{64})", message)
    shown = found[1] if found else message
    return f"{file.path} from {file.url}: wrong checksum, expected sha256 {file.sha256}, found {shown}"


def _reason(error: Exception) -> str:
    """Return the innermost cause of a failed download, in one line."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"status {error.response.status_code}"
    reason = getattr(error.args[0] if error.args else error, "reason", error)
    return " ".join(str(reason).split())[-160:]
