"""What has come of a download so far, and the note of which version of the file it is of."""

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
    """What a part is of: its address, its version for `If-Range` ("" if unknown) and the bytes of the whole file."""

    address: str = ""
    version: str = ""
    total: int | None = None


class PartialFile:
    """A file that is being loaded: `.<name>.part` beside its place, and `.<name>.part.json`, the note.

    Attributes:
        name: The name that the file will have.
        path: Where the part is.
        joined: Whether the bytes are of more than one connection, and so maybe of two versions of the file.
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
        """The bytes that have come."""
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def total(self) -> int | None:
        """The bytes of the whole file, if the server said so."""
        return self._note.total

    def version(self, address: str) -> str:
        """Return the version of an address' file that can be resumed; "" if there is none."""
        return self._note.version if self.size and self._note.address == address else ""

    def is_whole(self, address: str) -> bool:
        """Return whether all bytes came in an earlier call."""
        return bool(self.version(address)) and self.size == self.total

    def begin(self, address: str, headers: Mapping[str, str]) -> None:
        """Empty the part and note what will come.

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
        """Return whether an answer with a part of a file is the rest of this one."""
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
        """Yield a stream that adds to the part.

        Raises:
            HeadroomError: If it cannot be written, as on a full disk; then nothing of it is left.
        """
        try:
            with open(self.path, "ab") as stream:
                yield stream
        except OSError as error:
            self.discard()
            raise cannot_write(self.path, error) from error

    def finish(self) -> None:
        """Put the whole file into its place.

        Raises:
            HeadroomError: If something else is there.
        """
        try:
            with open(self.path, "rb") as stream:
                os.fsync(stream.fileno())
            self.path.replace(self._destination)
        except OSError as error:
            raise cannot_write(self._destination, error) from error
        self.discard()

    def keep_if_safe(self) -> None:
        """Discard the part unless a later call can go on with it."""
        if not self.version(self._note.address):
            self.discard()

    def discard(self) -> None:
        """Remove the part and its note."""
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)

    def _read_note(self) -> _Note:
        try:
            note = json.loads(self._note_path.read_text(encoding="utf-8"))
            return _Note(str(note["address"]), str(note["version"]), note["total"])
        except (OSError, ValueError, KeyError, TypeError):  # none, or not written to its end
            return _Note()


def _version(headers: Mapping[str, str]) -> str:
    """Return a strong entity tag or a date, "" if there is neither."""
    tag = headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
