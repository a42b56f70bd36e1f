"""Command lines of the stages: shared flags, one-line error messages."""

import argparse
import io
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory, visible

FULL_DISK = 28
"""Exit status of a stage that found no space left; its log may be empty, as it is on the same disk."""


def stage_parser(stage: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of one stage, e.g. `stage_parser("scores", __doc__)`."""
    return argparse.ArgumentParser(
        prog=f"python -m headroom {stage}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a run in the tables."""
    parser.add_argument("--study", default="study", help="name of the study, a column of the table")
    parser.add_argument("--run", default="run", help="name of the run, a column of the table")


def add_checkpoints(parser: argparse.ArgumentParser, form: str, *, several: bool = False) -> None:
    """Add the flags that name the trained models and the device.

    Args:
        parser: The parser of a stage.
        form: Description of a checkpoint, for the help.
        several: One per epoch instead of one.
    """
    if several:
        parser.add_argument("--checkpoints", nargs="+", required=True, help=f"one or more, each a {form}")
    else:
        parser.add_argument("--checkpoint", required=True, help=form)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="where to compute")


def add_until(parser: argparse.ArgumentParser) -> None:
    """Add the flag that splits a training into jobs."""
    parser.add_argument(
        "--until",
        type=_epoch,
        help="stop after this epoch without writing the final checkpoints, for another job to resume; unset for all",
    )


def read_epoch(checkpoint: str) -> float:
    """Return the epoch in a checkpoint's name, e.g. `epoch8/`, 0 if it has none.

    It is an integer but for a share of the first epoch (`epoch0.5/`).
    """
    found = re.search(r"\bepoch(\d+(?:\.\d+)?)/?$", checkpoint)
    number = found[1] if found else "0"
    return float(number) if "." in number else int(number)


def leading_columns(given: argparse.Namespace, checkpoint: str | None = None) -> dict[str, Any]:
    """Return the first columns of tables: study, run, and the epoch of a checkpoint, by default of `--checkpoint`."""
    return {"study": given.study, "run": given.run, "epoch": read_epoch(checkpoint or given.checkpoint)}


def run(main: Callable[[Sequence[str] | None], None], arguments: Sequence[str] | None = None) -> None:
    """Run a stage's `main`; errors that a user can act on end it with a line on standard error and a status.

    The status is `FULL_DISK` if the disk is full, otherwise 2.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    if not sys.warnoptions:  # deprecations inside libraries: users of a stage cannot act on them
        for category in (UserWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    try:
        with _silent_without_memory():
            main(arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        message = _message(error)
        if message is None:  # a programming error keeps its traceback
            raise
        sys.exit(_failure(message, FULL_DISK if disk_is_full(error) else 2))


@contextmanager
def _silent_without_memory() -> Iterator[None]:
    """Suppress Python's reports of objects, e.g. generators, that could not be finalised for lack of memory."""
    report = sys.unraisablehook

    def report_the_rest(unraisable: "sys.UnraisableHookArgs") -> None:
        if not issubclass(unraisable.exc_type, MemoryError):
            report(unraisable)

    sys.unraisablehook = report_the_rest
    try:
        yield
    finally:
        sys.unraisablehook = report


def _message(error: Exception) -> str | None:
    """Return the message of an error for a user, None if users cannot act on it."""
    if isinstance(error, HeadroomError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("headroom"):
        return f"environment: the module '{error.name}' is missing; install it (fairseq: bash envs/create.sh fairseq)"
    if out_of_memory(error):
        return "out of memory: the allocation failed; give the job more memory or a smaller batch"
    if disk_is_full(error):
        place = getattr(error, "filename", None)
        at = f" at {place}" if place else ""
        return f"no space left on the disk: cannot write; free space{at} and re-run the same command"
    return None


def _epoch(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise HeadroomError(f"--until {text}: not an epoch; give a number from 1")
    return int(text)


def _failure(message: str, status: int) -> int:
    with suppress(OSError):  # the log may be on the full disk
        print(f"error: {visible(message)}", file=sys.stderr)
    # Without memory or disk space the exit handlers of libraries fail as well; they must not hide the line or the
    # status.
    with suppress(MemoryError):
        sys.stderr = io.StringIO()
    return status
