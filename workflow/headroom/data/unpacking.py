"""How much packed files may unpack to: a few bytes can be made to fill a disk or the memory."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any

from headroom.core.errors import HeadroomError

LEAST = 2**28
"""Bytes that any file may unpack to."""

RATIO = 100
"""How many times its own size a larger file may unpack to. Text comes to 10 times, weights to hardly more than one."""

FAULTS = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What the libraries raise for damaged files."""

_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


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
        """Open a file.

        Raises:
            OSError: If it cannot be read.
        """
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
