"""Shared test data are made once, also if tests run in several processes, and fail once."""

import fcntl
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from missing_software import FAILED_ALREADY


class NotMadeError(Exception):
    """Shared test data could not be made; the message contains the reason."""

    def __init__(self, directory: Path, cause: str) -> None:
        super().__init__(f"{directory.name} could not be made:\n{cause}")
        self.directory = directory

    def is_first(self) -> bool:
        """Return whether no test of any process has failed by this yet; it has from now on."""
        try:
            self.directory.with_suffix(".reported").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a directory that the first process has filled by `make`; the others wait for it.

    Raises:
        NotMadeError: `make` failed, here or in another process; there is no retry.
    """
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    directory = shared / name
    done, failed = directory.with_suffix(".done"), directory.with_suffix(".failed")
    with open(directory.with_suffix(".lock"), "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        if failed.exists():
            raise NotMadeError(directory, failed.read_text(encoding="utf-8"))
        if not done.exists():
            try:
                directory.mkdir()  # what a killed process left behind is not made
                make(directory)
            except Exception:
                failed.write_text(traceback.format_exc(), encoding="utf-8")
                raise NotMadeError(directory, traceback.format_exc()) from None
            done.touch()
    return directory


def report_once(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Let the first test that lacks what could not be made fail, and skip the others: one cause is one failure."""
    cause = call.excinfo.value if call.excinfo is not None else None
    if isinstance(cause, NotMadeError) and not cause.is_first():
        report.outcome = "skipped"
        reason = f"{cause.directory.name} {FAILED_ALREADY}"
        report.longrepr = (str(report.fspath), report.location[1] or 0, f"Skipped: {reason}")
