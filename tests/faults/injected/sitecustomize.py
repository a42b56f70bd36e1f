"""Python loads this in the jobs of a disturbed run. It stops the process at one moment, for a test to strike it there.

HEADROOM_STOP says where, on the N-th time that it comes (`@N`, the first without):

    open pattern         a file whose path matches is open for writing, and still empty
    write pattern        a file whose path matches is half written: the first half of the first write is on the disk
    place pattern        a file is whole under a temporary name, and about to take its place, the path that matches

The process writes its number into the file that HEADROOM_STOPPED names and stops itself by SIGSTOP, once. All that runs
before and after that is the real code.
"""

import builtins
import io
import os
import signal
from collections.abc import Callable
from fnmatch import fnmatch
from functools import wraps
from typing import Any

KIND, _, _REST = os.environ["HEADROOM_STOP"].partition(" ")
WHERE, _, _TIMES = _REST.partition("@")
left = int(_TIMES or 1)


def stop() -> None:
    """Count down; when it is time, leave a note and stop."""
    global left
    left -= 1
    if left != 0:
        return
    try:
        note = os.open(os.environ["HEADROOM_STOPPED"], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return  # another process was there first
    os.write(note, str(os.getpid()).encode())
    os.close(note)
    os.kill(os.getpid(), signal.SIGSTOP)


def placing(place_plainly: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that places a file, and stops before the one that is waited for."""

    @wraps(place_plainly)
    def stopping(source: Any, target: Any, **named: Any) -> Any:
        if fnmatch(os.fsdecode(target), WHERE):
            stop()
        return place_plainly(source, target, **named)

    return stopping


class HalfWritten(io.FileIO):
    """A file that stops when the first half of its first write is on the disk."""

    begun = False

    def write(self, data: Any) -> int:
        if self.begun or len(data) < 2:
            return super().write(data)
        self.begun = True
        written = super().write(bytes(data[: len(data) // 2]))
        stop()
        return written


def opening(open_plainly: Callable[..., Any]) -> Callable[..., Any]:
    """Return `open`, which stops at the file that is waited for, or hands out one that stops half-way."""

    @wraps(open_plainly)
    def stopping(
        file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None,
        *rest: Any, **named: Any,
    ) -> Any:  # fmt: skip
        if "w" not in mode or not isinstance(file, str | os.PathLike) or not fnmatch(os.fsdecode(file), WHERE):
            return open_plainly(file, mode, buffering, encoding, errors, newline, *rest, **named)
        if KIND == "open":
            opened = open_plainly(file, mode, buffering, encoding, errors, newline, *rest, **named)
            stop()
            return opened
        binary = io.BufferedWriter(HalfWritten(file, "w"))
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline)

    return stopping


if KIND == "place":
    os.replace = placing(os.replace)
    os.rename = placing(os.rename)
else:
    builtins.open = io.open = opening(open)
