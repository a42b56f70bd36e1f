import os
import shutil
import signal
import subprocess

import pytest
from commands import wait_until
from whole_project import TINY, Finished, Project, environment

RUN = "translation.svgd.seed2"
TABLE = f"results/tiny/training/{RUN}.csv"
CHECKPOINTS = [f"results/tiny/runs/{RUN}/epoch{epoch}.pt" for epoch in (1, 2)]


@pytest.fixture
def untrained(study: Project) -> Project:
    """Return the finished study as it was before one of its runs was trained."""
    for path in (study.root / "results" / "tiny" / "runs" / RUN, study.root / "work" / "tiny" / RUN):
        shutil.rmtree(path)
    (study.root / TABLE).unlink()
    return study


def kill_within_training(project: Project) -> None:
    """Start Snakemake and end it with all its children, by SIGKILL, as soon as an epoch is done."""
    command = ["snakemake", TABLE, "--cores", "2", "--configfile", TINY]
    log = project.root / "killed.log"
    with open(log, "w") as stream:
        running = subprocess.Popen(
            command, cwd=project.root, env=environment(), stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        first = project.root / "work" / "tiny" / RUN / "state1.pt"
        wait_until(lambda: first.exists() or running.poll() is not None, "the first epoch", pause=0.005)
        assert running.poll() is None, log.read_text()
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def test_a_killed_training_ends_with_the_same_bits(untrained: Project, finished: Finished) -> None:
    kill_within_training(untrained)
    assert not any((untrained.root / name).exists() for name in CHECKPOINTS)
    assert not (untrained.root / "work" / "tiny" / RUN / "state2.pt").exists()

    locked = untrained.snakemake(TABLE, warm=False)
    assert locked.status != 0
    assert "--unlock" in locked.output

    assert untrained.snakemake("--unlock", warm=False).status == 0
    ended = untrained.snakemake(TABLE, warm=False)  # rerun-incomplete is part of profiles/default
    assert ended.status == 0, ended.output
    assert "resuming after epoch 1" in (untrained.root / "logs" / "tiny" / "training" / f"{RUN}.log").read_text()
    for name in CHECKPOINTS:
        assert (untrained.root / name).read_bytes() == (finished.project.root / name).read_bytes()
