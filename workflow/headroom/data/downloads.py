"""Published files: looked for in a mirror first, downloaded with retries that resume, never waited for without end.

What has come lies beside the file's place. A later call resumes there if the server says that the file is still the
same. The file itself appears whole or not at all. pooch downloads each try to a new temporary file, from the start, and
waits for a slow server as long as a byte comes now and then: resuming after a broken connection or a killed process,
and limits of time and size, would all have to be added to it as a downloader, which is what this module is.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.partial import PartialFile

BUSY = (408, 429, 500, 502, 503, 504)
"""Statuses after which the same server may well answer later."""

CHUNK = 2**16
"""The most bytes that are read at once; fewer where fewer have come."""

PROGRESS = 2**20
"""Bytes after which a try counts as the first."""

LONGEST_PAUSE = 60
"""Seconds that are waited at most before a try, whatever the server asks for."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long a download is waited for.

    Attributes:
        tries: How often one address is tried without progress.
        pause: Makes the pauses between tries, in seconds: none, then 2, 4, 8, ... times this.
        timeout: Seconds without an answer or a byte after which a try has failed.
        limit: Seconds that one address may take in all, besides those that its bytes take at the slowest speed.
        slowest: That speed, in bytes a second.
        report: Seconds between two lines in the log.
    """

    tries: int = 5
    pause: float = 1.0
    timeout: float = 30.0
    limit: float = 600.0
    slowest: float = 50_000.0
    report: float = 5.0


PATIENCE = Patience()


class _BrokeOffError(Exception):
    """A try that failed, and that another may follow."""

    def __init__(self, reason: str, response: Any = None) -> None:
        super().__init__(reason)
        self.response = response


class _GaveUpError(Exception):
    """Why an address does not give the file."""


def download(
    addresses: Sequence[str],
    destination: Path,
    *,
    place: str,
    expected: str | None,
    size: int | None = None,
    patience: Patience = PATIENCE,
) -> None:
    """Load a file from the first of its addresses that gives it.

    Args:
        addresses: Where it may be had.
        destination: Where it goes. A file that is there stays until the new one is whole.
        place: Where a mirror would have it, for the message.
        expected: Its SHA-256, if it is known.
        size: Its bytes, if they are known: more are not taken.
        patience: How long is waited.

    Raises:
        HeadroomError: If no address gives it, with the reason of each, or if it cannot be written.
    """
    part = PartialFile(destination)
    reasons = []
    for address in addresses:
        try:
            _obtain(part, address, expected, size, patience)
        except _GaveUpError as error:
            part.keep_if_safe()
            reasons.append(f"from {address}: {error}")
            _log.warning("cannot download %s %s", destination.name, reasons[-1])
        else:
            part.finish()
            return
    raise HeadroomError(
        f"cannot download {destination.name} {'; '.join(reasons)};\n"
        f"check the network, or name a mirror that has {place}"
    )


def in_mirror(mirror: Path | str | None, place: str) -> Path | None:
    """Return where a directory that mirrors published files has one, e.g. `multi30k/train.en.gz`; None if it lacks it.

    A missing mirror is only a warning: the same study runs on machines with and without it.
    """
    if mirror is None or _is_address(mirror):
        return None
    if not Path(mirror).is_dir():
        _log.warning("the mirror %s is not a directory here", mirror)
        return None
    path = Path(mirror) / place
    return path if path.is_file() else None


def addresses(mirror: Path | str | None, place: str, url: str) -> list[str]:
    """Return where a file may be downloaded, in order: from a mirror on the network, then where it is published."""
    return [f"{str(mirror).rstrip('/')}/{place}", url] if _is_address(mirror) else [url]


def _is_address(mirror: Path | str | None) -> bool:
    return str(mirror).startswith(("http://", "https://"))


def _obtain(part: PartialFile, address: str, expected: str | None, size: int | None, patience: Patience) -> None:
    """Load a file and compare it with its checksum; one made of several connections is loaded once more."""
    for is_last in (False, True):
        _fill(part, address, size, patience)
        if expected is None or (found := sha256(part.path)) == expected:
            return
        came, joined = part.size, part.joined
        part.discard()
        if is_last or not joined:
            raise _GaveUpError(f"wrong checksum, expected sha256 {expected}, found {found} ({came} bytes)")
        _log.warning("%s: the parts of several connections do not fit: loading it anew", part.name)


def _fill(part: PartialFile, address: str, size: int | None, patience: Patience) -> None:
    policy = Retry(total=patience.tries - 1, backoff_factor=patience.pause, retry_after_max=LONGEST_PAUSE)
    left, clock = policy, _Clock(part, patience, size)
    with requests.Session() as session:
        while not part.is_whole(address):
            before = part.size
            try:
                _load(session, part, address, clock)
                break
            except _BrokeOffError as error:
                left = policy if part.size - before >= PROGRESS else left
                if not left.total:
                    raise _GaveUpError(f"{error} (tried {patience.tries} times)") from error
                _log.info("%s: %s; trying again", address, error)
                left = left.increment("GET", address, error=error)
                left.sleep(error.response)


def _load(session: requests.Session, part: PartialFile, address: str, clock: "_Clock") -> None:
    """Ask once for what is missing, and add what comes."""
    headers = {"Accept-Encoding": "identity"}  # the file's own bytes, which its checksum is of
    if version := part.version(address):
        headers |= {"Range": f"bytes={part.size}-", "If-Range": version}
    try:
        with session.get(address, headers=headers, stream=True, timeout=clock.patience.timeout) as response:
            _begin(part, address, response)
            with part.appending() as stream:
                while data := response.raw.read1(CHUNK, decode_content=False):
                    stream.write(data)
                    clock.see(len(data), stream.tell())
    except (requests.ConnectionError, requests.Timeout, HTTPError) as error:
        raise _BrokeOffError(_reason(error)) from error
    except requests.RequestException as error:  # no address, or one that leads round in a circle
        raise _GaveUpError(_reason(error)) from error


def _begin(part: PartialFile, address: str, response: requests.Response) -> None:
    """Make ready for what a server sends: the rest of a file, or a file from its start."""
    status = response.status_code
    if status in BUSY:
        raise _BrokeOffError(f"status {status}", response.raw)
    if status == 200:
        part.begin(address, response.headers)
    elif status == 416 or (status == 206 and not part.continues(address, response.headers)):
        part.discard()
        raise _BrokeOffError("the server does not go on where the download broke off")
    elif status != 206:
        raise _GaveUpError(f"status {status}")


class _Clock:
    """The time that an address takes, and the lines of progress; `limit` is the bytes of the file, if known."""

    def __init__(self, part: PartialFile, patience: Patience, limit: int | None) -> None:
        self.patience = patience
        self._part, self._limit = part, limit
        self._start = self._reported = time.monotonic()
        self._came = 0

    def see(self, came: int, size: int) -> None:
        """Note bytes that have come, now and of the part: give up if they are too many or too slow; log progress."""
        now = time.monotonic()
        self._came += came
        if self._limit is not None and size > self._limit:
            self._part.discard()
            raise _GaveUpError(f"more than the {self._limit} bytes that it should have")
        if now - self._start > self.patience.limit + self._came / self.patience.slowest:
            raise _GaveUpError(f"too slow: {self._came} bytes in {now - self._start:.0f} s")
        if now - self._reported >= self.patience.report:
            self._reported = now
            total = self._limit or self._part.total
            whole = f" of {total / 1e6:.1f}" if total else ""
            _log.info("%s: %.1f%s MB", self._part.name, size / 1e6, whole)


def _reason(error: Exception) -> str:
    """Return the innermost cause of a failed try, in one line."""
    causes = [one for one in (*error.args, getattr(error, "reason", None)) if isinstance(one, Exception)]
    return _reason(causes[-1]) if causes else " ".join(str(error).split())[-160:]
