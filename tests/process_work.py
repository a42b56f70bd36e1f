"""Worker functions of parallel processes in tests, which cannot import them from a test module."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.processes import check_replicas, process_count, sum_over_processes, this_process, wait_for_all

Report = Callable[[Any], None]


def note(reported: Any, *, place: Path) -> None:
    """Add what is reported to a file."""
    with open(place / "reported", "a") as stream:
        stream.write(f"{reported}\n")


def agree_then_fail(report: Report, *, place: Path) -> None:
    """Report a sum, compare weights, write a file each; then the second process fails while the first waits for it."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    one = torch.tensor(this_process() + 1)
    report((this_process(), process_count(), int(sum_over_processes(one)), int(one)))
    same, smallest = torch.ones(3), torch.ones(3)
    check_replicas([same, smallest])
    smallest[1] += this_process() * torch.finfo(torch.float32).eps
    with pytest.raises(HeadroomError, match="their weights diverged"):
        check_replicas([same, smallest])
    if this_process() == 1:
        raise HeadroomError("the disk of process 2 is full")
    report("waiting")
    wait_for_all()


def be_killed(_: Report) -> None:
    """Kill the second process while the first waits for it."""
    if this_process() == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    wait_for_all()


def make_a_mistake(_: Report) -> None:
    """Fail for a mistake in the program, in the second process alone."""
    if this_process() == 1:
        raise ValueError("seven is not even")
    wait_for_all()


def run_out_of_memory(_: Report) -> None:
    """Allocate more memory than available, in the second process only."""
    if this_process() == 1:
        torch.empty(2**60)
    wait_for_all()


def wait_for_ever(_: Report, *, place: Path) -> None:
    """Leave a file each, then do not end: the first waits for the second."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    if this_process() == 1:
        time.sleep(600)
    wait_for_all()
