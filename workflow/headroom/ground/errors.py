"""The one exception that reaches users, and two mishaps that any code may meet."""

import errno
from collections.abc import Iterator

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SAYS_FULL = ("No space left on device", "Disk quota exceeded", "PytorchStreamWriter failed", "unexpected pos")
"""How libraries that are not Python say that a file could not be written; the last two are torch's."""

_SAYS_NO_MEMORY = ("can't allocate memory", "Cannot allocate memory", "std::bad_alloc")


class HeadroomError(Exception):
    """A mistake or mishap that a user can act on.

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
