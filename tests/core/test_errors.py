"""A full disk and missing memory are recognised from all kinds of errors."""

import errno

import pytest
from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


def led_to(error: Exception, first: Exception, *, explicitly: bool) -> Exception:
    """Return an error as it is when raised from another, or while handling it."""
    if explicitly:
        error.__cause__ = first
    else:
        error.__context__ = first
    return error


@pytest.mark.parametrize("explicitly", [True, False])
def test_what_led_to_an_error_counts(explicitly: bool) -> None:
    full = led_to(RuntimeError("unexpected pos 64 vs 0"), OSError(errno.ENOSPC, "full"), explicitly=explicitly)
    empty = led_to(HeadroomError("cannot read a.pt"), MemoryError(), explicitly=explicitly)
    assert (disk_is_full(full), out_of_memory(full)) == (True, False)
    assert (disk_is_full(empty), out_of_memory(empty)) == (False, True)


def test_the_number_of_an_error_counts_more_than_words() -> None:
    assert not disk_is_full(led_to(RuntimeError("unexpected pos"), OSError(errno.EIO, "I/O error"), explicitly=True))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OutOfMemoryError("CUDA"),
        RuntimeError("std::bad_alloc"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ValueError("Error tokenizing data. C error: Calling read(nbytes) on source failed. Try engine='python'."),
    ],
)
def test_memory_runs_out_in_many_ways(error: Exception) -> None:
    assert out_of_memory(error)


@pytest.mark.parametrize("error", [ValueError("shape"), OSError(errno.EACCES, "denied"), RuntimeError("memory format")])
def test_other_errors_are_neither(error: Exception) -> None:
    assert not disk_is_full(error)
    assert not out_of_memory(error)


def test_an_error_that_led_to_itself_is_no_endless_loop() -> None:
    error = ValueError("round")
    error.__context__ = error
    assert not out_of_memory(error)
