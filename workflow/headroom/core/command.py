"""Running a stage: its log, and one-line error messages."""

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory, visible

FULL_DISK = 28
"""Exit status of a stage that found no space left; its log may be empty, as it is on the same disk."""


def run(work: Callable[[], None]) -> None:
    """Run a stage's work; errors that a user can act on end it with a line on standard error and a status.

    The status is `FULL_DISK` if the disk is full, otherwise 2.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    if not sys.warnoptions:  # deprecations inside libraries: users of a stage cannot act on them
        for category in (UserWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    try:
        with _silent_without_memory():
            work()
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


def _failure(message: str, status: int) -> int:
    with suppress(OSError):  # the log may be on the full disk
        print(f"error: {visible(message)}", file=sys.stderr)
    # Without memory or disk space the exit handlers of libraries fail as well; they must not hide the line or the
    # status.
    with suppress(MemoryError):
        sys.stderr = io.StringIO()
    return status
