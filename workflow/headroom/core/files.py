"""Atomic writing of files, and reading of text."""

import fcntl
import glob
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from headroom.core.errors import HeadroomError, disk_is_full, shorten

_log = logging.getLogger(__name__)

RECORD = "record.json"


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the same directory that replaces `path` when the block ends without an error.

    Readers see the old file or the complete new one, never a part; after an error no temporary file remains. Temporary
    files of a killed writer of the same file are removed first, so a file has one writer at a time: of two, the first
    one fails.

    Args:
        path: The final file. Its directory is made if needed.

    Raises:
        HeadroomError: If the directory cannot be written or the disk is full.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(path.parent.glob(f".{glob.escape(path.name)}.????????{glob.escape(path.suffix)}*"))
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    except RuntimeError as error:  # torch's error for a failed write
        if not disk_is_full(error):
            raise
        raise cannot_write(path, error) from error
    finally:
        if temporary is not None:
            _remove(path.parent.glob(f"{glob.escape(temporary.name)}*"))  # libraries append their own suffixes


def cannot_write(path: Path | str, error: BaseException) -> HeadroomError:
    """Return the error for a file or directory that cannot be written, with the reason."""
    if disk_is_full(error):
        return HeadroomError(
            f"{path}: cannot write, no space left on the disk; free space there and re-run the same command"
        )
    reason = getattr(error, "strerror", None) or str(error).strip().split("\n")[0]
    return HeadroomError(
        f"{path}: cannot write, {reason or type(error).__name__}; check the path, its permissions and the disk"
    )


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a directory, which is made if needed, for this process alone within a block; the lock ends with the process.

    Raises:
        HeadroomError: If another process holds it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    place = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(place)
        raise HeadroomError(f"{directory}: another process trains here; wait until it has ended") from error
    except OSError as error:  # file systems without locks
        _log.warning("%s: cannot be locked (%s)", directory, error.strerror)
    try:
        yield
    finally:
        os.close(place)


_HASHED = 2**20
"""Bytes of a file that `identify_files` reads: all of most texts, and the header of weights."""


def identify_files(paths: Iterable[Path | str]) -> str:
    """Return a checksum that changes when other files take the place of these, also with older dates.

    Of a large file it takes the beginning, size, inode and time of its content, which moving keeps; of a small one its
    content alone. Missing files are left out.
    """
    found = hashlib.sha256()
    for path in map(Path, paths):
        if not path.is_file():
            continue
        about = path.stat()
        with open(path, "rb") as stream:
            beginning = hashlib.sha256(stream.read(_HASHED)).hexdigest()
        large = [about.st_size, about.st_mtime_ns, about.st_ino] if about.st_size > _HASHED else []
        found.update(json.dumps([path.name, beginning, *large]).encode())
    return found.hexdigest()[:16]


def write_record(directory: Path) -> None:
    """Write `record.json`, the checksum of every file of a directory: of a change in any of them, one file tells."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.name.startswith("."))
    sums = {path.relative_to(directory).as_posix(): sha256(path) for path in files if path.name != RECORD}
    write_lines(directory / RECORD, [json.dumps({"sha256": sums}, indent=2)])


def read_lines(path: Path | str, most: int | None = None) -> list[str]:
    r"""Return the lines of a UTF-8 text, split at "\n" alone and without it.

    `str.splitlines` also splits at U+0085 and U+2028, which occur inside real sentences.

    Args:
        path: The file.
        most: Only the lines that begin within about this number of bytes; None for all.

    Raises:
        HeadroomError: If the file is missing, is not UTF-8, contains a NUL, as in UTF-16, or its lines end in carriage
            returns alone; names the line.
    """
    try:
        with open(path, "rb") as stream:
            content = stream.read(-1 if most is None else most)
            if most is not None and (rest := stream.readline()):
                content += rest
    except OSError as error:
        raise HeadroomError(f"{path}: cannot read, {error.strerror}; check the path and its permissions") from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HeadroomError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8") from error
    if (place := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise HeadroomError(f"{path}, line {line}: a NUL character, as in UTF-16; convert the file to UTF-8")
    lines = text.removesuffix("\n").split("\n") if text else []
    if len(lines) == 1 and "\r" in lines[0].rstrip("\r"):
        raise HeadroomError(
            f"{path}: lines end in carriage returns alone, the first is '{shorten(text.split(chr(13))[0])}'; "
            "save the file with the line ends of Unix or Windows"
        )
    return lines


def write_lines(path: Path | str, lines: list[str]) -> None:
    r"""Write lines as UTF-8, each terminated by "\n", atomically.

    Raises:
        HeadroomError: If they cannot be written, or contain an unpaired surrogate, which UTF-8 excludes; names the
            line.
    """
    try:
        content = "".join(f"{line}\n" for line in lines).encode("utf-8")
    except UnicodeEncodeError as error:
        line = error.object.count("\n", 0, error.start) + 1
        raise HeadroomError(
            f"{path}, line {line}: cannot write an unpaired surrogate; remove it from the text"
        ) from error
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def remove(path: Path) -> None:
    """Remove a file, or a directory with its content.

    Raises:
        HeadroomError: If it cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise HeadroomError(f"{path}: cannot remove, {error.strerror}; check its permissions") from error


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def link(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the file system has no hard links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def parse_yaml(text: str) -> Any:
    """Return what a text of the package in YAML says; libyaml, where PyYAML has it, is ten times as fast.

    Raises:
        yaml.YAMLError: If it is not YAML.
    """
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506, both are safe
