"""A job runs out of memory: an error message, or killed by the system; with enough, the same command finishes."""

from dataclasses import replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_told, assert_whole
from faults.disturbing import disturbed, forget
from faults.memory import SMALL_BLOCKS, control_group, forbid_more
from faults.moments import GATES, PRUNING, REPORT, TEXT, TRAIN_EPOCH, TUNE_EPOCH, Moment
from study import Finished, Project

COMPUTING = (TRAIN_EPOCH, TUNE_EPOCH, PRUNING, GATES)
ALSO = (
    replace(TEXT, stop="call headroom.data.providers.generated:generate_sets"),
    replace(REPORT, stop="call headroom.report.page:render"),
)


@pytest.mark.parametrize(("moment", "fault"), [(moment, "MemoryError") for moment in (*COMPUTING, *ALSO)], ids=str)
def test_memory_is_refused(project: Project, finished: Finished, place: Path, moment: Moment, fault: str) -> None:
    forget(project, moment)
    with disturbed(project, moment, place, SMALL_BLOCKS) as run:
        forbid_more(run.job)
        run.go_on()
        assert run.end() == 1, run.output
    assert_told(
        project,
        moment,
        run.output,
        "error: out of memory: the allocation failed; give the job more memory or a smaller batch",
    )
    assert_whole(project, finished)
    assert_finished(project, finished, moment, project.snakemake(moment.target))


@pytest.mark.parametrize(("moment", "fault"), [(moment, "killed for memory") for moment in COMPUTING], ids=str)
def test_the_system_kills(project: Project, finished: Finished, place: Path, moment: Moment, fault: str) -> None:
    forget(project, moment)
    with disturbed(project, moment, place, SMALL_BLOCKS) as run, control_group(f"headroom-test-{run.job}") as group:
        group.hold(run.job, kilobytes=64)
        run.go_on()
        assert run.end() == 1, run.output
        assert group.killed == 1, "the job did not need memory"
    assert "error: job: killed, most likely because it ran out of memory" in run.output, run.output
    assert "Traceback" not in run.output
    assert_whole(project, finished)
    assert_finished(project, finished, moment, project.snakemake(moment.target))
