"""Resumable HTTP download of published files with mirrors, retries and timeouts.

A partial download is stored next to the destination. A later call resumes it if the server confirms that the file is
unchanged. The destination is written atomically. pooch downloads each try to a new temporary file, from the start, and
has no limit on the total time: resuming after a broken connection or a killed process, and limits of time and size,
would have to be added to it as a downloader, such as this module.
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
"""HTTP statuses of temporary failures."""

CHUNK = 2**16
"""The maximum number of bytes per read."""

PROGRESS = 2**20
"""Progress in bytes after which the number of tries is reset."""

LONGEST_PAUSE = 60
"""Maximum pause before a try in seconds; overrides the server's request."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """Retries and timeouts of a download.

    Attributes:
        tries: Number of tries without progress per address.
        pause: Unit of the pauses between tries, in seconds: 0, then 2, 4, 8, ... times this.
        timeout: Seconds without an answer or a byte after which a try fails.
        limit: Total seconds per address, in addition to its size divided by `slowest`.
        slowest: Minimum speed in bytes a second.
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
    """A failed try that may be repeated."""

    def __init__(self, reason: str, response: Any = None) -> None:
        super().__init__(reason)
        self.response = response


class _GaveUpError(Exception):
    """The reason of a permanent failure of an address."""


def download(
    addresses: Sequence[str],
    destination: Path,
    *,
    place: str,
    expected: str | None,
    size: int | None = None,
    patience: Patience = PATIENCE,
) -> None:
    """Download a file from the first of its addresses that succeeds.

    Args:
        addresses: Its addresses, in order.
        destination: Its path. An existing file is kept until the new one is complete.
        place: Its path in a mirror, for the message.
        expected: Its SHA-256, if known.
        size: Its size in bytes, if known; an upper limit.
        patience: Retries and timeouts.

    Raises:
        HeadroomError: If all addresses fail, with the reason of each, or if it cannot be written.
    """
    part = PartialFile(destination)
    reasons = []
    for address in addresses:
        try:
            _obtain(part, address, expected, size, patience)
        except _GaveUpError as error:
            part.keep_if_safe()
            reasons.append(f"from {address}: {error}")
            _log.warning("%s: cannot download %s", destination.name, reasons[-1])
        else:
            part.finish()
            return
    raise HeadroomError(
        f"{destination.name}: cannot download {'; '.join(reasons)};\ncheck the network, or give a mirror with {place}"
    )


def in_mirror(mirror: Path | str | None, place: str) -> Path | None:
    """Return the path of a file in a mirror directory, e.g. `multi30k/train.en.gz`; None if it is missing there.

    A missing mirror is only a warning: the same study runs on machines with and without it.
    """
    if mirror is None or _is_address(mirror):
        return None
    if not Path(mirror).is_dir():
        _log.warning("mirror %s: not a directory on this machine; downloading instead", mirror)
        return None
    path = Path(mirror) / place
    return path if path.is_file() else None


def addresses(mirror: Path | str | None, place: str, url: str) -> list[str]:
    """Return the addresses of a file in order: a mirror on the network, then the publisher."""
    return [f"{str(mirror).rstrip('/')}/{place}", url] if _is_address(mirror) else [url]


def _is_address(mirror: Path | str | None) -> bool:
    return str(mirror).startswith(("http://", "https://"))


def _obtain(part: PartialFile, address: str, expected: str | None, size: int | None, patience: Patience) -> None:
    """Download a file and verify its checksum; retry once if it was assembled from several connections."""
    for is_last in (False, True):
        _fill(part, address, size, patience)
        if expected is None or (found := sha256(part.path)) == expected:
            return
        came, joined = part.size, part.joined
        part.discard()
        if is_last or not joined:
            raise _GaveUpError(f"checksum mismatch, expected sha256 {expected}, found {found} ({came} bytes)")
        _log.warning("%s: checksum mismatch after resuming; downloading it from the start", part.name)


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
                _log.info("%s: %s; retrying", address, error)
                left = left.increment("GET", address, error=error)
                left.sleep(error.response)


def _load(session: requests.Session, part: PartialFile, address: str, clock: "_Clock") -> None:
    """Request the missing bytes once and append the response."""
    headers = {"Accept-Encoding": "identity"}  # the checksum is that of the unencoded file
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
    except requests.RequestException as error:  # an invalid address or a redirect loop
        raise _GaveUpError(_reason(error)) from error


def _begin(part: PartialFile, address: str, response: requests.Response) -> None:
    """Prepare for a response: the rest of a file, or a file from its start."""
    status = response.status_code
    if status in BUSY:
        raise _BrokeOffError(f"status {status}", response.raw)
    if status == 200:
        part.begin(address, response.headers)
    elif status == 416 or (status == 206 and not part.continues(address, response.headers)):
        part.discard()
        raise _BrokeOffError("the server does not support resuming this download")
    elif status != 206:
        raise _GaveUpError(f"status {status}")


class _Clock:
    """Time limit and progress log of an address; `limit` is the size of the file in bytes, if known."""

    def __init__(self, part: PartialFile, patience: Patience, limit: int | None) -> None:
        self.patience = patience
        self._part, self._limit = part, limit
        self._start = self._reported = time.monotonic()
        self._came = 0

    def see(self, came: int, size: int) -> None:
        """Count received bytes, now and of the part; fail if there are too many or they are too slow; log progress."""
        now = time.monotonic()
        self._came += came
        if self._limit is not None and size > self._limit:
            self._part.discard()
            raise _GaveUpError(f"larger than the expected {self._limit} bytes")
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
