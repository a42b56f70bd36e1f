"""Snakemake or a job is terminated; re-running the same command finishes with the same numbers."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_whole
from faults.disturbing import Disturbed, disturbed, forget
from faults.moments import MOMENTS, REPORT, TRAIN_EPOCH, TUNE_STATE, VOCABULARY, Moment
from study import Finished, Project


def end_snakemake(run: Disturbed) -> None:
    """SIGTERM: Snakemake lets the jobs that run come to their end, and begins no other."""
    os.kill(run.snakemake.pid, signal.SIGTERM)
    run.go_on()
    assert run.end() != 0, run.output
    assert "Will exit after finishing currently running jobs" in run.output


def end_machine(run: Disturbed) -> None:
    """SIGKILL to all at once, as when the power goes."""
    run.signal_all(signal.SIGKILL)
    assert run.end() == -signal.SIGKILL


def end_job(run: Disturbed) -> None:
    """SIGTERM to the job alone."""
    os.kill(run.job, signal.SIGTERM)
    run.go_on()
    assert run.end() == 1, run.output


def kill_job(run: Disturbed) -> None:
    """SIGKILL to the job alone."""
    os.kill(run.job, signal.SIGKILL)
    assert run.end() == 1, run.output


def interrupt(run: Disturbed) -> None:
    """Ctrl-C: SIGINT to all."""
    run.signal_all(signal.SIGINT)
    run.go_on()
    assert run.end() != 0, run.output


FAULTS: dict[str, Callable[[Disturbed], None]] = {
    "SIGTERM to Snakemake": end_snakemake,
    "SIGKILL to all": end_machine,
    "SIGTERM to the job": end_job,
    "SIGKILL to the job": kill_job,
    "Ctrl-C": interrupt,
}
CELLS = [(moment, fault) for moment in MOMENTS for fault in FAULTS if fault != "Ctrl-C"]
CELLS += [(moment, "Ctrl-C") for moment in (VOCABULARY, TRAIN_EPOCH, TUNE_STATE, REPORT)]


@pytest.mark.parametrize(("moment", "fault"), CELLS, ids=str)
def test_the_same_command_again_finishes(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, place) as run:
        FAULTS[fault](run)
    assert "Traceback" not in run.output, run.output
    assert_whole(project, finished)
    if fault == "SIGKILL to all":
        assert project.snakemake("--unlock").status == 0
    ended = project.snakemake(moment.target)
    if fault == "SIGTERM to Snakemake":  # the job was not disturbed, and its work must not be lost
        assert "Nothing to be done" in ended.output
        moment = replace(moment, epoch=0)
    assert_finished(project, finished, moment, ended)
