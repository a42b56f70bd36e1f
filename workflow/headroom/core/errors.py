"""Errors that a user can act on, and how they end a program: in a line, with a status."""

import errno
import io
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_DISK_MESSAGES = ("No space left on device", "Disk quota exceeded", "PytorchStreamWriter failed", "unexpected pos")
"""Messages of native libraries for a failed write; the last two are torch's."""

_NO_MEMORY_MESSAGES = (
    *("can't allocate memory", "Cannot allocate memory", "std::bad_alloc"),
    *("C error: out of memory", "C error: Calling read(nbytes) on source failed"),  # pandas'
)


class HeadroomError(Exception):
    """An error that a user can act on.

    The message has the form `<where>: <what>; <what to do>`, in one or two lines; `where` is a file, line, key or flag.
    """


def disk_is_full(error: BaseException) -> bool:
    """Return whether an error, or one of its causes, is that of a full disk or an exhausted quota."""
    chain = list(_iterate_causes(error))
    numbers = [one.errno for one in chain if isinstance(one, OSError) and one.errno is not None]
    if numbers:
        return any(number in _FULL for number in numbers)
    return any(words in str(one) for one in chain for words in _FULL_DISK_MESSAGES)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or one of its causes, is that of a process or GPU without free memory."""
    return any(
        isinstance(one, MemoryError)
        or type(one).__name__ == "OutOfMemoryError"  # torch's, of a GPU
        or any(words in str(one) for words in _NO_MEMORY_MESSAGES)
        for one in _iterate_causes(error)
    )


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        yield error
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def shorten(text: object, most: int = 60) -> str:
    """Return the beginning of a text that is quoted in a message, with a mark if something was left out."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[:most]} ..."


_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Return a text with a visible placeholder for every control character except "\t" and "\n".

    Such characters truncate a figure or a page (NUL), control a terminal (ESC), reverse the order of the surrounding
    text (U+202E), or cannot be encoded as UTF-8 (unpaired surrogates). C0 characters become Unicode's control
    pictures, all others U+FFFD.
    """
    return _STEERING.sub(lambda found: _sign(ord(found[0])), text)


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


FULL_DISK = 28
"""Exit status of a stage that found no space left; its log may be empty, as it is on the same disk."""


BROKEN_PIPE = 141
"""Exit status of a stage whose output nobody reads any more, as in `make new ... | head`: that of SIGPIPE."""


def run(work: Callable[[], None]) -> None:
    """Run a stage's work; errors that a user can act on end it with a line on standard error and a status.

    The status is `FULL_DISK` if the disk is full, otherwise 2.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # which logs every request to the Hub
    if not sys.warnoptions:  # deprecations inside libraries: users of a stage cannot act on them
        for category in (UserWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="scipy")  # results that are NaN are handled
    try:
        with _silent_without_memory():
            work()
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stdout = io.StringIO()  # the real one would fail again at the end of the process
        sys.exit(BROKEN_PIPE)
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
