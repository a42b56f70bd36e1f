"""Snakemake or a job is terminated; re-running the same command finishes with the same numbers."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_whole
from faults.disturbing import Disturbed, disturbed, forget, state_of
from faults.moments import GATES_MODEL, MOMENTS, TABLE, TRAIN_HANDOVER, TRAIN_STATE, TUNE_STATE, VOCABULARY, Moment
from study import PATIENCE, Finished, Project


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


FAULTS: dict[str, tuple[Callable[[Disturbed], None], tuple[Moment, ...]]] = {
    "SIGKILL to all": (end_machine, MOMENTS),
    "SIGTERM to Snakemake": (end_snakemake, (VOCABULARY, TRAIN_STATE, TUNE_STATE)),
    "SIGTERM to the job": (end_job, (TRAIN_HANDOVER, GATES_MODEL)),
    "SIGKILL to the job": (kill_job, (TRAIN_HANDOVER, TABLE)),
    "Ctrl-C": (interrupt, (VOCABULARY, GATES_MODEL, TUNE_STATE)),
}
CELLS = [(moment, fault) for fault, (_, moments) in FAULTS.items() for moment in moments]


@pytest.mark.parametrize(("moment", "fault"), CELLS, ids=str)
def test_the_same_command_again_finishes(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, place) as run:
        FAULTS[fault][0](run)
    assert "Traceback" not in run.output, run.output
    assert_whole(project, finished)
    if fault == "SIGKILL to all":
        assert project.snakemake("--unlock").status == 0
    ended = project.snakemake(moment.outputs[0])
    if fault == "SIGTERM to Snakemake":  # the job was not disturbed, and its work must not be lost
        assert "Nothing to be done" in ended.output
        moment = replace(moment, epoch=0)
    assert_finished(project, finished, moment, ended)


@pytest.mark.parametrize(
    ("moment", "fault"), [(moment, "SIGKILL to Snakemake") for moment in (TRAIN_STATE, TABLE)], ids=str
)
def test_a_job_that_is_left_alone_does_no_harm(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, place) as run:
        os.kill(run.snakemake.pid, signal.SIGKILL)
        run.snakemake.wait(PATIENCE)
        assert project.snakemake("--unlock").status == 0
        assert_finished(project, finished, moment, project.snakemake(moment.outputs[0]))
        assert state_of(run.job) == "T"
        run.go_on()
        run.end()
    assert_whole(project, finished)
