"""Progress of a stage: how far it is and how long is left, a line every few seconds in its log."""

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

logger = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two lines; a stage that takes less writes none."""

Part = TypeVar("Part")


def clock(seconds: float) -> str:
    """Return a time in minutes and seconds, `1:20`, from an hour on also in hours, `1:02:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Timer:
    """Limits lines: it is due at most once in a number of seconds."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._last = time.monotonic()

    def due(self, always: bool = False) -> bool:
        """Return whether the time since the start, or since it was last due, is over; or `always`."""
        now = time.monotonic()
        if now - self._last < self._every and not always:
            return False
        self._last = now
        return True


class Steps:
    """Counts the finished parts of a stage, and logs e.g. `ablation: 31 of 72 heads on test, 1:20 left`.

    Args:
        stage: The name of the stage.
        total: The number of its parts.
        parts: Their name, e.g. `heads on test`.
    """

    def __init__(self, stage: str, total: int, parts: str) -> None:
        self.done = 0
        self._stage, self._total, self._parts = stage, total, parts
        self._start = time.monotonic()
        self._timer = Timer(EVERY)

    def step(self, note: str = "", count: int = 1) -> None:
        """Count finished parts; a note is added to the line, if there is one now."""
        self.done += count
        if self.done < self._total and self._timer.due():
            left = (time.monotonic() - self._start) / self.done * (self._total - self.done)
            about = f", {note}" if note else ""
            logger.info(f"{self._stage}: {self.done} of {self._total} {self._parts}{about}, {clock(left)} left")


def follow_items(items: Sequence[Part], stage: str, parts: str) -> Iterator[Part]:
    """Yield items, each counted as a finished part when the next one is requested; see `Steps`."""
    steps = Steps(stage, len(items), parts)
    for item in items:
        yield item
        steps.step()
