"""Download of published files from mirrors and publishers, with retries and timeouts.

pooch verifies a download and places it; an existing file is kept until then. A file of known checksum that was
interrupted is continued, also by a later call. The checksum decides whether the parts fit.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
import requests
from urllib3.util import Retry

from headroom.core.errors import HeadroomError
from headroom.core.files import cannot_write
from headroom.core.progress import EVERY, Timer

BUSY = (408, 429, 500, 502, 503, 504)
"""HTTP statuses of temporary failures."""

NOTHING_MORE = 416
"""HTTP status for a part that is as long as the file, or longer."""

CHUNK = 2**14
"""Bytes per read."""

PROGRESS = 2**20
"""Progress in bytes after which the number of tries is reset."""

LONGEST_PAUSE = 60
"""Maximum pause before a try in seconds; overrides the server's request."""

_log = logging.getLogger(__name__)
pooch.get_logger().setLevel(logging.WARNING)


@dataclass(frozen=True)
class Patience:
    """Retries and timeouts of a download.

    Attributes:
        tries: Number of tries without progress per address.
        pause: Unit of the pauses between tries, in seconds: 0, then 2, 4, 8, ... times this.
        timeout: Seconds without an answer or a byte after which a try fails.
        limit: Total seconds per address, in addition to its size divided by `slowest`.
        slowest: Minimum speed in bytes a second.
    """

    tries: int = 5
    pause: float = 1.0
    timeout: float = 30.0
    limit: float = 600.0
    slowest: float = 50_000.0


PATIENCE = Patience()


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
    reasons = []
    part = destination.with_name(f".{destination.name}.part")
    for address in addresses:
        try:
            _retrieve(address, destination, expected, _Resuming(part, expected is not None, size, patience))
            return
        except (requests.RequestException, ValueError) as error:
            reasons.append(f"from {address}: {_reason(error)}")
            _log.warning("%s: cannot download %s", destination.name, reasons[-1])
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise cannot_write(destination, error) from error
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


def _retrieve(address: str, destination: Path, expected: str | None, downloader: "_Resuming") -> None:
    """Download a file and verify its checksum; retry once if it was assembled from several connections."""
    where = {"fname": destination.name, "path": destination.parent, "downloader": downloader}
    try:
        pooch.retrieve(address, expected, **where)
    except ValueError:
        if not downloader.joined:
            raise
        _log.warning("%s: checksum mismatch after resuming; downloading it from the start", destination.name)
        pooch.retrieve(address, expected, **where)


class _Resuming:
    """Downloads the rest of a file for pooch.

    Attributes:
        joined: Whether the last download was assembled from several connections.
    """

    def __init__(self, part: Path, resumes: bool, most: int | None, patience: Patience) -> None:
        self.joined = False
        self._part, self._resumes, self._most, self._patience = part, resumes, most, patience

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool | None = None) -> None:  # noqa: ARG002
        """Download to `output_file`, with retries; on failure a part remains only if a later call can continue it."""
        policy = Retry(
            total=self._patience.tries - 1, backoff_factor=self._patience.pause, retry_after_max=LONGEST_PAUSE
        )
        left, start = policy, time.monotonic()
        while True:
            before = self._size()
            try:
                self._load(url, start)
                break
            except requests.RequestException as error:
                left = policy if self._size() - before >= PROGRESS else left
                if not left.total or not _may_pass(error):
                    if not self._resumes:
                        self._part.unlink(missing_ok=True)
                    raise
                _log.info("%s: %s; retrying", url, _reason(error))
                left = left.increment("GET", url, error=error)
                left.sleep(getattr(error.response, "raw", None))
        self._part.replace(output_file)

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _load(self, url: str, start: float) -> None:
        """Request the missing bytes once and append the response."""
        had = self._size() if self._resumes else 0
        headers = {"Accept-Encoding": "identity"}  # the checksum is that of the unencoded file
        headers |= {"Range": f"bytes={had}-"} if had else {}
        timer = Timer(EVERY)
        with requests.get(url, headers=headers, stream=True, timeout=self._patience.timeout) as response:
            if response.status_code == NOTHING_MORE:
                self._part.unlink()
            response.raise_for_status()
            self.joined = response.status_code == 206
            came = 0
            with open(self._part, "ab" if self.joined else "wb") as stream:
                for data in response.iter_content(CHUNK):
                    stream.write(data)
                    came += len(data)
                    self._check(came, stream.tell(), time.monotonic() - start)
                    if timer.due():
                        _log.info("%s: %.1f MB", url, stream.tell() / 1e6)

    def _check(self, came: int, size: int, seconds: float) -> None:
        """Raise RequestException if a transfer is too slow or the part is too large."""
        if seconds > self._patience.limit + came / self._patience.slowest:
            raise requests.RequestException(f"too slow: {came} bytes in {seconds:.0f} s")
        if self._most is not None and size > self._most:
            self._part.unlink()
            kind = requests.ConnectionError if self.joined else requests.RequestException  # the former is tried again
            raise kind(f"larger than the expected {self._most} bytes")


def _may_pass(error: requests.RequestException) -> bool:
    """Return whether another try may succeed."""
    if error.response is not None:
        return error.response.status_code in (*BUSY, NOTHING_MORE)
    return isinstance(error, requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError)


def _reason(error: Exception) -> str:
    """Return the innermost cause of a failed try, in one line."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"status {error.response.status_code}"
    causes = [one for one in (*error.args, getattr(error, "reason", None)) if isinstance(one, Exception)]
    return _reason(causes[-1]) if causes else " ".join(str(error).split()).partition(". Deleted")[0][-240:]
