"""Commands that tests run: however slow the machine is they may end, and only what hangs is ended.

A command hangs if for some minutes neither it nor what it started has printed anything or used the processor. A time
limit would fail on a slow machine, and there for the work of others.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

QUIET = 600.0
"""Seconds without a sign of life after which a command hangs."""

PATIENCE = 3600.0
"""Seconds until something that takes some seconds must have happened; only what hangs takes as long anywhere."""

IDLE = 0.002
"""Share of a core below which a process only waits; on a core with a hundred others, one that works has more."""

Words = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, all that it said, and the seconds it took."""

    status: int
    output: str
    seconds: float


class HangingError(AssertionError):
    """A command that was ended because it hangs."""


def run(
    command: Words, *, cwd: Path | None = None, env: Mapping[str, str] | None = None, quiet: float = QUIET
) -> Ended:
    """Run a command to its end.

    Args:
        command: Its words.
        cwd: The directory in which it runs.
        env: Its environment; this process's if there is none.
        quiet: Seconds without a sign of life after which it is ended, with what it started.

    Raises:
        HangingError: It was ended.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while not _has_ended(process, quiet):
                before = _signs(process.pid, output.fileno())
                if not _has_ended(process, quiet) and _hangs(before, _signs(process.pid, output.fileno()), quiet):
                    raise HangingError(f"{command} hung; it had said:\n{_text(output.fileno())}")
        finally:
            if process.poll() is None:
                end_all(process.pid)
                process.wait()
        return Ended(process.returncode, _text(output.fileno()), time.monotonic() - start)


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process, half of the time that it may be quiet."""
    try:
        process.wait(seconds / 2)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signs(pid: int, output: int) -> tuple[int, dict[psutil.Process, float]]:
    """Return the bytes printed, and the seconds of the processor by process."""
    spent = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in family(pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                spent[one] = times.user + times.system + times.children_user + times.children_system
    return os.fstat(output).st_size, spent


def _hangs(
    before: tuple[int, Mapping[psutil.Process, float]], after: tuple[int, Mapping[psutil.Process, float]], quiet: float
) -> bool:
    """Return whether nothing was printed, and no process, old or new, used the processor."""
    used = sum(seconds - before[1].get(process, 0.0) for process, seconds in after[1].items())
    return before[0] == after[0] and used < IDLE * quiet / 2


def wait_until(happened: Callable[[], bool], what: str = "what was waited for", pause: float = 0.02) -> None:
    """Wait until something has happened.

    Raises:
        HangingError: It has not, in a time in which it would have on any machine.
    """
    latest = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > latest:
            raise HangingError(f"{what} did not come within {PATIENCE:g} s")
        time.sleep(pause)


def family(pid: int) -> list[psutil.Process]:
    """Return a process and all that come from it."""
    first = psutil.Process(pid)
    return [first, *first.children(recursive=True)]


def end_all(pid: int) -> None:
    """Kill a process and all that come from it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in family(pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()


def _text(output: int) -> str:
    size = os.fstat(output).st_size
    return os.pread(output, size, 0).decode("utf-8", errors="replace")
