"""Files of the catalogue, from a mirror or from the network: whole and right, or not there."""

import gzip
import logging
import shutil
from pathlib import Path

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, sha256
from headroom.data.catalogue import CatalogueFile
from headroom.data.mirrors import addresses, in_mirror
from headroom.data.published import PublishedFile
from headroom.data.transfer import PATIENCE, Patience, download
from headroom.data.unpacking import FAULTS, read_all

File = CatalogueFile | PublishedFile
"""What can be fetched: a place in a mirror, a URL, a size and a checksum."""

_log = logging.getLogger(__name__)


def fetch(
    file: File, directory: Path | str, *, mirror: Path | str | None = None, patience: Patience = PATIENCE
) -> Path:
    """Return the path of a catalogued file below `directory`, fetching it unless it is there already.

    The mirror is tried first: a directory, or the address of one, in which the file lies at `file.path`. A file in
    a directory that is not the catalogued one is an error, so that a broken mirror does not go unnoticed.

    Raises:
        HeadroomError: If the file cannot be had or its checksum is wrong; then nothing is left behind but what a
            later call can go on from.
    """
    destination = Path(directory) / file.path
    if destination.is_file() and sha256(destination) == file.sha256:
        return destination
    if mirrored := in_mirror(mirror, file.path):
        _copy(mirrored, file, destination)
    else:
        _log.info("downloading %s (%d bytes; licence: %s)", file.url, file.bytes, file.licence)
        where = addresses(mirror, file.path, file.url)
        download(where, destination, place=file.path, expected=file.sha256, size=file.bytes, patience=patience)
    return destination


def unpacked_lines(path: Path, file: File) -> list[str]:
    r"""Return the lines of a fetched file, split at "\n" alone, unpacked if its name ends in .gz.

    Raises:
        HeadroomError: If it cannot be unpacked, is not UTF-8, or has not the catalogued number of lines.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
            lines = read_all(path, stream).decode("utf-8").removesuffix("\n").split("\n")
    except (*FAULTS, UnicodeDecodeError) as error:
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
