"""The exception for users, detection of a full disk and of missing memory, and text that is safe to print."""

import errno
import re
from collections.abc import Iterator

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
    """Yield an error, its causes and its contexts."""
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
