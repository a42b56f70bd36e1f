"""profiles/cluster-generic, for real: its scripts submit jobs on this machine, query and cancel them."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from study import PATIENCE, Finished, Project, environment, hear_interrupts, new_project, rows, wait_until

pytestmark = pytest.mark.long

PROFILE = "profiles/cluster-generic"
SCORES = "results/tiny/scores/translation.baseline.seed1.csv"
LONG = "results/tiny/long/corpus/corpus.json"
"""Text that it takes minutes to generate."""
ASK = f"""#!/bin/sh
{PROFILE}/status "$1"
touch asked
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a fresh project, whose status command leaves a trace."""
    project = new_project(tmp_path / "project")
    project.configure({"tasks.long": {"task": "translation", "corpus": {"source": "generated", "train": 600_000}}})
    (project.root / "ask").write_text(ASK)
    (project.root / "ask").chmod(0o755)
    return project


@contextmanager
def submitted(project: Project, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run Snakemake with the profile, its output in the file `said`; at the end no process of a job is left."""
    command = ["snakemake", *words, "--profile", PROFILE, "--cluster-generic-status-cmd", "./ask"]
    with open(project.root / "said", "w") as stream:
        running = subprocess.Popen(
            [*command, "--configfile", "changed.yaml"],
            cwd=project.root,
            env=environment(),
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        )
    try:
        yield running
    finally:
        running.kill()
        for job in jobs_of(project):
            if living(group_of(job)):
                os.killpg(group_of(job), signal.SIGKILL)


def jobs_of(project: Project) -> list[Path]:
    """Return the directories of the jobs that were submitted."""
    return [path for path in (project.root / "work" / "cluster").glob("job.*") if (path / "group").exists()]


def group_of(job: Path) -> int:
    """Return the process group of a job, 0 before it is known."""
    return int((job / "group").read_text() or 0)


def living(group: int) -> list[str]:
    """Return the living processes of a process group."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


def generating(project: Project, running: "subprocess.Popen[bytes]") -> Path:
    """Wait until the long text is being generated, and return its job."""

    def find() -> list[Path]:
        assert running.poll() is None, (project.root / "said").read_text()
        return [job for job in jobs_of(project) if any("tiny/long/corpus" in words for words in living(group_of(job)))]

    wait_until(lambda: bool(find()), "the job begins")
    return find()[0]


def test_numbers_are_those_of_local_jobs_and_a_killed_job_is_not_waited_for(
    project: Project, finished: Finished
) -> None:
    with submitted(project, SCORES, LONG, "--keep-going", "--retries", "0") as running:
        job = generating(project, running)
        os.killpg(group_of(job), signal.SIGKILL)
        assert running.wait(PATIENCE) == 1
        said = (project.root / "said").read_text()
        assert "text failed; the end of logs/tiny/text/long.log:" in said
        assert not (job / "status").exists()
        others = [one for one in jobs_of(project) if one != job]
        assert [(one / "status").read_text() for one in others] == ["0\n"] * 4, said  # from text to scores
        assert rows(project.root / SCORES) == rows(finished.project.root / SCORES)


def test_an_interrupt_ends_the_jobs(project: Project) -> None:
    with submitted(project, LONG, "--seconds-between-status-checks", "8") as running:
        group = group_of(generating(project, running))
        # an interrupt cancels nothing before a job is known, nor during a query, when Snakemake knows no active job
        wait_until((project.root / "asked").exists, "a query")
        wait_until(lambda: not asking(running), "its answer is read")
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) != 0
        assert "Traceback" not in (project.root / "said").read_text()
        wait_until(lambda: not living(group), "the job ends")
        assert not (project.root / LONG).exists()


def asking(running: "subprocess.Popen[bytes]") -> bool:
    """Return whether Snakemake has a process, of a query, that it has not yet waited for."""
    return bool(psutil.Process(running.pid).children())
