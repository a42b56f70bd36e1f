"""Mirrors: a directory, or an address on the network, at which published files lie by their places."""

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


def in_mirror(mirror: Path | str | None, place: str) -> Path | None:
    """Return where a directory that mirrors published files has one; None if it lacks it.

    A mirror that is not there is no error, only a warning: the same study runs on machines with and without it.

    Args:
        mirror: The mirror, or None. One on the network has nothing here.
        place: Where a mirror has the file, e.g. `multi30k/train.en.gz`.
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
