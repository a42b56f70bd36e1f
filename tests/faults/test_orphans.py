"""Only Snakemake is killed and its job continues: the same command finishes, and the job does no harm."""

import os
import signal
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_whole
from faults.disturbing import disturbed, forget, state_of
from faults.moments import TABLE, TRAIN_EPOCH, TUNE_STATE, Moment
from study import Finished, Project


@pytest.mark.parametrize(
    ("moment", "fault"), [(moment, "SIGKILL to Snakemake") for moment in (TRAIN_EPOCH, TUNE_STATE, TABLE)], ids=str
)
def test_a_job_that_is_left_alone(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    with disturbed(project, moment, place) as run:
        os.kill(run.snakemake.pid, signal.SIGKILL)
        run.snakemake.wait()
        assert project.snakemake("--unlock").status == 0
        assert_finished(project, finished, moment, project.snakemake(moment.target))
        assert state_of(run.job) == "T"
        run.go_on()
        run.end()
    assert_whole(project, finished)
