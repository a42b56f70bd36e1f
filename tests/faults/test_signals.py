"""Snakemake or a job is terminated; re-running the same command finishes with the same numbers."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_whole
from faults.disturbing import Disturbed, disturbed, forget, state_of
from faults.moments import GATES_MODEL, MOMENTS, TABLE, TRAIN_HANDOVER, TRAIN_STATE, TUNE_STATE, VOCABULARY, Moment
from study import PATIENCE, Finished, Project

STRUCK = {
    # Who gets which signal: all at once, as when the power goes or by a terminal, Snakemake alone, or the job alone.
    "SIGKILL to all": ("all", signal.SIGKILL, MOMENTS),
    "Ctrl-C": ("all", signal.SIGINT, (VOCABULARY, GATES_MODEL, TUNE_STATE)),
    "SIGTERM to Snakemake": ("Snakemake", signal.SIGTERM, (VOCABULARY, TRAIN_STATE, TUNE_STATE)),
    "SIGTERM to the job": ("job", signal.SIGTERM, (TRAIN_HANDOVER, GATES_MODEL)),
    "SIGKILL to the job": ("job", signal.SIGKILL, (TRAIN_HANDOVER, TABLE)),
}
CELLS = [(moment, fault) for fault, (_, _, moments) in STRUCK.items() for moment in moments]


def strike(run: Disturbed, whom: str, number: int) -> int:
    """Send a signal, let the job go on if there is one, and return Snakemake's exit status."""
    if whom == "all":
        os.killpg(run.snakemake.pid, number)
    else:
        os.kill(run.job if whom == "job" else run.snakemake.pid, number)
    if number != signal.SIGKILL:
        run.go_on()
    return run.end()


@pytest.mark.parametrize(("moment", "fault"), CELLS, ids=str)
def test_the_same_command_again_finishes(
    project: Project, finished: Finished, tmp_path: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, tmp_path) as run:
        whom, number, _ = STRUCK[fault]
        status = strike(run, whom, number)
    assert status == -number if fault == "SIGKILL to all" else status == 1 if whom == "job" else status != 0, run.output
    assert "Traceback" not in run.output, run.output
    assert_whole(project, finished)
    if fault == "SIGKILL to all":
        assert project.snakemake("--unlock").status == 0
    ended = project.snakemake(moment.outputs[0])
    if fault == "SIGTERM to Snakemake":  # the job was not disturbed, and its work must not be lost
        assert "Will exit after finishing currently running jobs" in run.output
        assert "Nothing to be done" in ended.output
        moment = replace(moment, epoch=0)
    assert_finished(project, finished, moment, ended)


@pytest.mark.parametrize(
    ("moment", "fault"), [(moment, "SIGKILL to Snakemake") for moment in (TRAIN_STATE, TABLE)], ids=str
)
def test_a_job_that_is_left_alone_does_no_harm(
    project: Project, finished: Finished, tmp_path: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, tmp_path) as run:
        os.kill(run.snakemake.pid, signal.SIGKILL)
        run.snakemake.wait(PATIENCE)
        assert project.snakemake("--unlock").status == 0
        assert_finished(project, finished, moment, project.snakemake(moment.outputs[0]))
        assert state_of(run.job) == "T"
        run.go_on()
        run.end()
    assert_whole(project, finished)
