"""What processes that work together do in tests: they import it, and could not import a test module."""

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

Tell = Callable[[Any], None]


def agree_then_fail(tell: Tell, *, place: Path) -> None:
    """Tell of a sum and of weights, leave a file each; then the second process fails and the first waits for it."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    one = torch.tensor(this_process() + 1)
    tell((this_process(), process_count(), int(sum_over_processes(one)), int(one)))
    same, smallest = torch.ones(3), torch.ones(3)
    check_replicas([same, smallest])
    smallest[1] += this_process() * torch.finfo(torch.float32).eps
    with pytest.raises(HeadroomError, match="their weights diverged"):
        check_replicas([same, smallest])
    if this_process() == 1:
        raise HeadroomError("the disk of process 2 is full")
    tell("waiting")
    wait_for_all()


def be_killed(_: Tell) -> None:
    """Kill the second process while the first waits for it."""
    if this_process() == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    wait_for_all()


def make_a_mistake(_: Tell) -> None:
    """Fail for a mistake in the program, in the second process alone."""
    if this_process() == 1:
        raise ValueError("seven is no prime")
    wait_for_all()


def run_out_of_memory(_: Tell) -> None:
    """Ask for more memory than there is, in the second process alone."""
    if this_process() == 1:
        torch.empty(2**60)
    wait_for_all()


def wait_for_ever(_: Tell, *, place: Path) -> None:
    """Leave a file each, then do not end: the first waits for the second."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    if this_process() == 1:
        time.sleep(600)
    wait_for_all()
