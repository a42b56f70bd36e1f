"""Errors that a user can act on end a stage in one line."""

import errno
import subprocess
import sys

import pytest
from headroom.core import errors
from headroom.core.errors import HeadroomError

OUT_OF_MEMORY = "error: out of memory: the allocation failed; give the job more memory or a smaller batch\n"


def failing(error: BaseException) -> errors.Callable[[], None]:
    def work() -> None:
        raise error

    return work


FULL = "error: no space left on the disk: cannot write; free space"
ENDED = [
    (HeadroomError("no head E9:1; the model has 3 layers"), 2, "error: no head E9:1; the model has 3 layers\n"),
    (MemoryError(), 2, OUT_OF_MEMORY),
    (RuntimeError("[...] DefaultCPUAllocator: can't allocate memory: you tried"), 2, OUT_OF_MEMORY),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), 2, OUT_OF_MEMORY),
    (OSError(errno.ENOSPC, "No space", "results/a"), 28, f"{FULL} at results/a and re-run the same command\n"),
    (Exception("No space left on device (os error 28)"), 28, f"{FULL} and re-run the same command\n"),
    (KeyboardInterrupt(), 130, ""),
]


@pytest.mark.parametrize(("error", "status", "shown"), ENDED)
def test_errors_end_a_stage_in_one_line(
    error: BaseException, status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        errors.run(failing(error))
    assert (ended.value.code, capsys.readouterr().err) == (status, shown)


def test_output_that_nobody_reads_any_more_ends_a_stage_without_a_word() -> None:
    code = "from headroom.core.errors import run; run(lambda: print('x' * 99, *range(10**5), sep=chr(10)))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as stage:
        assert stage.stdout
        assert stage.stderr
        assert stage.stdout.readline().startswith(b"xxx")
        stage.stdout.close()
        assert (stage.stderr.read(), stage.wait()) == (b"", 141)


def test_programming_errors_keep_their_traceback() -> None:
    for error in (ValueError("ours"), OSError(errno.EACCES, "Permission denied")):
        with pytest.raises(type(error), match=r"ours|Permission"):
            errors.run(failing(error))
