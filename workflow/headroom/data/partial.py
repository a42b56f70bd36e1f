"""Partial downloads and the metadata that identify the version of the file."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from headroom.core.files import cannot_write


@dataclass(frozen=True)
class _Note:
    """Metadata of a part: address, version for `If-Range` ("" if unknown) and size of the whole file in bytes."""

    address: str = ""
    version: str = ""
    total: int | None = None


class PartialFile:
    """A file in download: `.<name>.part` in the directory of the destination, and its metadata `.<name>.part.json`.

    Attributes:
        name: The name of the complete file.
        path: The path of the part.
        joined: Whether the bytes come from several connections, and so possibly from two versions of the file.
    """

    def __init__(self, destination: Path) -> None:
        self.joined = True
        self.name = destination.name
        self.path = destination.with_name(f".{destination.name}.part")
        self._destination = destination
        self._note_path = destination.with_name(f".{destination.name}.part.json")
        self._note = self._read_note()

    @property
    def size(self) -> int:
        """The number of received bytes."""
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def total(self) -> int | None:
        """The size of the whole file in bytes, if known."""
        return self._note.total

    def version(self, address: str) -> str:
        """Return the version of the address's file that can be resumed; "" for none."""
        return self._note.version if self.size and self._note.address == address else ""

    def is_whole(self, address: str) -> bool:
        """Return whether an earlier call received all bytes."""
        return bool(self.version(address)) and self.size == self.total

    def begin(self, address: str, headers: Mapping[str, str]) -> None:
        """Empty the part and write the metadata of the response.

        Raises:
            HeadroomError: If it cannot be written.
        """
        length = headers.get("Content-Length", "")
        self._note = _Note(address, _version(headers), int(length) if length.isdecimal() else None)
        self.joined = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(b"")
            self._note_path.write_text(json.dumps(asdict(self._note)), encoding="utf-8")
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def continues(self, address: str, headers: Mapping[str, str]) -> bool:
        """Return whether a partial response continues this part."""
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range", ""))
        known = self.version(address)
        self.joined = True
        return bool(
            known
            and found
            and (int(found[1]), int(found[2])) == (self.size, self.total)
            and _version(headers) in ("", known)
        )

    @contextmanager
    def appending(self) -> Iterator[BinaryIO]:
        """Yield a stream that appends to the part.

        Raises:
            HeadroomError: If it cannot be written, as on a full disk; the part is then removed.
        """
        try:
            with open(self.path, "ab") as stream:
                yield stream
        except OSError as error:
            self.discard()
            raise cannot_write(self.path, error) from error

    def finish(self) -> None:
        """Move the complete file to its destination.

        Raises:
            HeadroomError: If the destination cannot be replaced.
        """
        try:
            with open(self.path, "rb") as stream:
                os.fsync(stream.fileno())
            self.path.replace(self._destination)
        except OSError as error:
            raise cannot_write(self._destination, error) from error
        self.discard()

    def keep_if_safe(self) -> None:
        """Discard the part unless a later call can resume it."""
        if not self.version(self._note.address):
            self.discard()

    def discard(self) -> None:
        """Remove the part and its metadata."""
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)

    def _read_note(self) -> _Note:
        try:
            note = json.loads(self._note_path.read_text(encoding="utf-8"))
            return _Note(str(note["address"]), str(note["version"]), note["total"])
        except (OSError, ValueError, KeyError, TypeError):  # missing or incomplete
            return _Note()


def _version(headers: Mapping[str, str]) -> str:
    """Return a strong entity tag or a date, "" if there is neither."""
    tag = headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
