"""Published tar archives: download, and extraction of the files that are wanted."""

import lzma
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from headroom.core.errors import HeadroomError
from headroom.core.files import cannot_write
from headroom.data.downloads import fetch_file

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
