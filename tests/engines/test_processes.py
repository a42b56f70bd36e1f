"""Parallel training processes: shared values, and termination."""

import json
import multiprocessing
import os
from functools import partial
from pathlib import Path

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.training.processes import (
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
from trainings import agree_then_fail, end_badly, ignore, note, wait_for_ever


def together(work, notify=print):
    run_together(work, count=2, device="cpu", notify=notify)


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def pids(place):
    return [int(text) for text in (path.read_text() for path in place.glob("*.pid")) if text]


def test_one_process_works_here_and_finds_itself_alone():
    reported = []
    run_together(lambda report: report(os.getpid()), count=1, device="cpu", notify=reported.append)
    assert reported == [os.getpid()]
    assert (this_process(), process_count()) == (0, 1)
    assert sum_over_processes(torch.tensor(3)) == 3
    wait_for_all()
    check_replicas([torch.ones(2)])


@pytest.mark.long
def test_they_add_up_and_an_error_in_one_ends_all(tmp_path):
    notify = partial(note, place=tmp_path)
    with pytest.raises(HeadroomError, match=r"^the disk of process 2 is full$"):
        together(partial(agree_then_fail, place=tmp_path), notify)
    reported = [json.loads(line) for line in (tmp_path / "reported").read_text().splitlines()]
    assert reported == [[0, 2, 3, 1], "waiting"]
    wait_until(lambda: all(map(is_gone, pids(tmp_path))), "the end of both processes")


@pytest.mark.long
def test_a_killed_process_ends_all_and_is_named():
    message = r"process 2 of 2: killed \(out of memory\?\), all were stopped; re-run the same command"
    with pytest.raises(HeadroomError, match=message):
        together(partial(end_badly, how="killed"))


@pytest.mark.long
def test_a_mistake_in_the_program_keeps_its_traceback():
    with pytest.raises(ProcessRaisedException, match=r"in end_badly[\s\S]*ValueError: seven is not even"):
        together(partial(end_badly, how="mistaken"))


@pytest.mark.long
def test_want_of_memory_is_told_as_in_one_process():
    with pytest.raises(MemoryError):
        together(partial(end_badly, how="out of memory"))


@pytest.mark.long
def test_they_end_when_the_one_that_started_them_is_killed(tmp_path):
    work, options = partial(wait_for_ever, place=tmp_path), {"count": 2, "device": "cpu", "notify": ignore}
    starter = multiprocessing.get_context("spawn").Process(target=run_together, args=(work,), kwargs=options)
    starter.start()
    wait_until(lambda: len(pids(tmp_path)) == 2, "both processes")
    starter.kill()
    starter.join(PATIENCE)
    wait_until(lambda: all(map(is_gone, pids(tmp_path))), "the end of both processes")


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
