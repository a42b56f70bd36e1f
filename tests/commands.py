"""Commands of tests, without time limit on slow machines; only commands that hang are terminated."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 3600.0
"""Seconds until what takes some minutes at most must have happened; only what hangs takes as long anywhere."""


@dataclass(frozen=True)
class Ended:
    """The result of a command: exit status, output, and run time in seconds."""

    status: int
    output: str
    seconds: float


class HangingError(AssertionError):
    """Something that did not happen in time."""


def run(
    command: Sequence[str | os.PathLike[str]], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a command to its end, in this process's environment unless another is given."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:  # no pipe: what the command leaves behind may hold it open
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        ended = subprocess.run(command, cwd=cwd, env=env, timeout=PATIENCE, **streams)
        output.seek(0)
        return Ended(ended.returncode, output.read().decode("utf-8", errors="replace"), time.monotonic() - start)


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
