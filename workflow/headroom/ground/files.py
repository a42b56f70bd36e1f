"""Files that are either whole or absent."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headroom.ground.errors import HeadroomError


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path` that replaces it when the block ends without an error.

    Readers see the old file or the complete new one, never a part; after an error nothing is left.

    Args:
        path: The final file. Its directory is made if needed.

    Raises:
        HeadroomError: If the directory cannot be written or the disk is full.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise HeadroomError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_lines(path: Path | str) -> list[str]:
    r"""Return the lines of a UTF-8 text, split at "\n" alone and without it.

    `str.splitlines` also splits at U+0085 and U+2028, which occur inside real sentences.

    Raises:
        HeadroomError: If the file is missing or is not UTF-8; names the line where decoding fails.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise HeadroomError(f"cannot read {path}: {error.strerror}") from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HeadroomError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8") from error
    return text.removesuffix("\n").split("\n") if text else []


def write_lines(path: Path | str, lines: list[str]) -> None:
    r"""Write lines as UTF-8, each ended by "\n", whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))


def _flush(path: Path) -> None:
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
