"""The exception that reaches users, two failures that any code may meet, and text that is safe to print."""

import errno
import re
from collections.abc import Iterator

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SAYS_FULL = ("No space left on device", "Disk quota exceeded", "PytorchStreamWriter failed", "unexpected pos")
"""How libraries that are not Python say that a file could not be written; the last two are torch's."""

_SAYS_NO_MEMORY = ("can't allocate memory", "Cannot allocate memory", "std::bad_alloc")


class HeadroomError(Exception):
    """A mistake or failure that a user can act on.

    The message is one or two lines: what is wrong, where (file, line, key) and what to do.
    """


def disk_is_full(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, is that of a full disk or a used-up quota."""
    chain = list(_led_to(error))
    numbers = [one.errno for one in chain if isinstance(one, OSError) and one.errno is not None]
    if numbers:
        return any(number in _FULL for number in numbers)
    return any(words in str(one) for one in chain for words in _SAYS_FULL)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, is that of a process or GPU without memory left."""
    return any(
        isinstance(one, MemoryError)
        or type(one).__name__ == "OutOfMemoryError"  # torch's, of a GPU
        or any(words in str(one) for words in _SAYS_NO_MEMORY)
        for one in _led_to(error)
    )


def _led_to(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from or while handling."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        yield error
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Return a text with a sign in place of every control character but "\t" and "\n".

    As they are, such characters end a drawing or a page (NUL), move the cursor of a terminal (ESC), turn the order
    of the text around them (U+202E), or cannot be written as UTF-8 (half of a surrogate pair). C0 characters become
    the pictures that Unicode has of them, all others U+FFFD.
    """
    return _STEERING.sub(lambda found: _sign(ord(found[0])), text)


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
