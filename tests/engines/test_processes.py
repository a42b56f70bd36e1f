"""Parallel training processes: shared values, and termination."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import headroom
import process_work
import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.processes import (
    check_processes,
    check_replicas,
    process_count,
    run_together,
    sum_over_processes,
    this_process,
    wait_for_all,
)
from study import PATIENCE, wait_until
from torch.multiprocessing.spawn import ProcessRaisedException


def together(work, notify=print):
    run_together(work, count=2, device="cpu", notify=notify)


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def pids(place):
    return [int((place / f"{number}.pid").read_text()) for number in (0, 1)]


def test_one_process_works_here_and_finds_itself_alone():
    reported = []
    run_together(lambda report: report(os.getpid()), count=1, device="cpu", notify=reported.append)
    assert reported == [os.getpid()]
    assert (this_process(), process_count()) == (0, 1)
    assert sum_over_processes(torch.tensor(3)) == 3
    wait_for_all()
    check_replicas([torch.ones(2)])


def test_they_add_up_and_an_error_in_one_ends_all(tmp_path):
    notify = partial(process_work.note, place=tmp_path)
    with pytest.raises(HeadroomError, match=r"^the disk of process 2 is full$"):
        together(partial(process_work.agree_then_fail, place=tmp_path), notify)
    assert (tmp_path / "reported").read_text().splitlines() == ["(0, 2, 3, 1)", "waiting"]
    wait_until(lambda: all(map(is_gone, pids(tmp_path))), "the end of both processes")


def test_a_killed_process_ends_all_and_is_named():
    message = r"process 2 of 2: killed \(out of memory\?\), all were stopped; re-run the same command"
    with pytest.raises(HeadroomError, match=message):
        together(process_work.be_killed)


@pytest.mark.long
def test_a_mistake_in_the_program_keeps_its_traceback():
    with pytest.raises(ProcessRaisedException, match=r"in make_a_mistake[\s\S]*ValueError: seven is not even"):
        together(process_work.make_a_mistake)


@pytest.mark.long
def test_want_of_memory_is_told_as_in_one_process():
    with pytest.raises(MemoryError):
        together(process_work.run_out_of_memory)


@pytest.mark.parametrize("how", [pytest.param("SIGTERM", marks=pytest.mark.long), "SIGKILL"])
def test_they_end_when_the_one_that_started_them_is_killed(tmp_path, how):
    script = tmp_path / "start.py"
    script.write_text(_SCRIPT)
    path = os.pathsep.join([str(Path(headroom.__file__).parents[1]), str(Path(process_work.__file__).parent)])
    started = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    time.sleep(0.2)  # the first one waits now, in the library
    started.send_signal(signal.Signals[how])
    started.wait(PATIENCE)
    wait_until(lambda: all(map(is_gone, pids(tmp_path))), "the end of both processes")


_SCRIPT = """
from functools import partial
from pathlib import Path
import process_work
from headroom.engines.processes import run_together

if __name__ == "__main__":
    work = partial(process_work.wait_for_ever, place=Path("."))
    run_together(work, count=2, device="cpu", notify=print)
"""


@pytest.mark.parametrize(
    ("count", "device", "gpus", "match"),
    [
        (0, "cpu", 0, "--processes 0: not positive"),
        (2, "cuda", 1, "--processes 2: torch sees 1 GPUs"),
        (9, "auto", 8, "--processes 9: torch sees 8 GPUs"),
    ],
)
def test_more_processes_than_gpus_are_refused(monkeypatch, count, device, gpus, match):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    with pytest.raises(HeadroomError, match=match):
        check_processes(count, device)
