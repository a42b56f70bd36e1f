"""profiles/cluster-generic, for real: its scripts submit jobs on this machine, query and cancel them."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from study import PATIENCE, TINY, Ended, Finished, Project, environment, hear_interrupts, new_project, wait_until

pytestmark = pytest.mark.long

PROFILE = "profiles/cluster-generic"
RUN = "translation.baseline.seed1"
SCORES = f"results/tiny/scores/{RUN}.csv"


def submit(project: Project, *targets: str, study: str = TINY) -> "subprocess.Popen[bytes]":
    """Start Snakemake with the profile; its output goes to `said`, its first answered status query makes `asked`."""
    (project.root / "asked").unlink(missing_ok=True)
    script = project.root / "ask"
    script.write_text(f'#!/bin/sh\n{PROFILE}/status "$1"\ntouch asked\n')
    script.chmod(0o755)
    ask = ("--cluster-generic-status-cmd", "./ask")
    command = ["snakemake", *targets, "--profile", PROFILE, *ask, "--configfile", study]
    with open(project.root / "said", "w") as stream:
        return subprocess.Popen(
            command,
            cwd=project.root,
            env=environment(),
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        )


def ended(project: Project, running: "subprocess.Popen[bytes]") -> Ended:
    """Wait until Snakemake has ended, and return how."""
    start = time.monotonic()
    try:
        status = running.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        running.kill()
        pytest.fail(f"Snakemake hangs:\n{(project.root / 'said').read_text()}")
    return Ended(status, (project.root / "said").read_text(), time.monotonic() - start)


def jobs_of(project: Project) -> list[Path]:
    """Return the directories of the jobs that were submitted, oldest first."""
    return sorted((project.root / "work" / "cluster").glob("job.*"), key=lambda path: path.stat().st_ctime)


def living(group: int) -> list[str]:
    """Return the living processes of a process group."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a fresh project with studies of generated text: `long` takes minutes, `brief` longer than a query."""
    project = new_project(tmp_path_factory.mktemp("cluster") / "project")
    for name, sentences in {"long": 600_000, "brief": 100_000}.items():
        changed = project.configure({"study": name, "translation.corpus.train": sentences})
        (project.root / changed).rename(project.root / f"{name}.yaml")
    return project


@pytest.fixture
def generating(project: Project) -> Iterator["subprocess.Popen[bytes]"]:
    """Return Snakemake with one job that runs, and that would run for minutes."""
    running = begin_generating(project, "long")
    yield running
    running.kill()
    for job in jobs_of(project):
        group = int((job / "group").read_text())
        if living(group):
            os.killpg(group, signal.SIGKILL)


def begin_generating(project: Project, name: str) -> "subprocess.Popen[bytes]":
    """Start Snakemake on a study's text and its downstream jobs, and return when the text is being generated.

    Snakemake knows the job by then, and no status query is running: an interrupt cancels nothing before a job is known,
    nor during a query, when Snakemake's list of active jobs is empty. Queries are far apart, also on a busy machine.
    """
    shutil.rmtree(project.root / "work", ignore_errors=True)
    log = project.root / "logs" / name / "text" / "translation.log"
    log.unlink(missing_ok=True)
    running = submit(project, binarised(name), "--seconds-between-status-checks", "8", study=f"{name}.yaml")
    begun = (log, project.root / "asked")
    wait_until(lambda: all(path.exists() for path in begun) or running.poll() is not None, "the job begins")
    time.sleep(2)  # Snakemake reads the answer to its query
    assert running.poll() is None, (project.root / "said").read_text()
    return running


def binarised(name: str) -> str:
    return f"results/{name}/translation/binarised/dict.source.txt"


def corpus(name: str) -> str:
    return f"results/{name}/translation/corpus/corpus.json"


def the_job(project: Project) -> tuple[Path, int]:
    """Return the directory of the only job, and its process group."""
    (job,) = jobs_of(project)
    group = int((job / "group").read_text())
    assert any("-m headroom" in args and "acquire" in args for args in living(group))
    return job, group


def test_numbers_are_those_of_local_jobs(project: Project, finished: Finished) -> None:
    shutil.rmtree(project.root / "work", ignore_errors=True)
    seen = ended(project, submit(project, SCORES))
    assert seen.status == 0, seen.output
    for name in (SCORES, f"results/tiny/runs/{RUN}/epoch2.pt"):
        assert (project.root / name).read_bytes() == (finished.project.root / name).read_bytes()
    assert seen.output.count("Submitted job ") == len(jobs_of(project)) == 4  # from text to scores
    assert {(job / "status").read_text() for job in jobs_of(project)} == {"0\n"}

    again = ended(project, submit(project, SCORES))
    assert again.status == 0, again.output
    assert "Nothing to be done" in again.output


class TestWhatFails:
    def test_killed_job_is_not_waited_for(self, project: Project, generating: "subprocess.Popen[bytes]") -> None:
        job, group = the_job(project)
        os.killpg(group, signal.SIGKILL)
        seen = ended(project, generating)
        assert seen.status == 1, seen.output
        assert "text_translation failed; the end of logs/long/text/translation.log:" in seen.output
        assert not (job / "status").exists()
        assert not living(group)
        plan = project.snakemake("-n", binarised("long"), study="long.yaml")  # no lock, no complaint
        assert plan.status == 0, plan.output
        assert "text_translation" in plan.output


class TestCancelling:
    def test_interrupt_ends_the_jobs(self, project: Project, generating: "subprocess.Popen[bytes]") -> None:
        _, group = the_job(project)
        generating.send_signal(signal.SIGINT)
        seen = ended(project, generating)
        assert seen.status != 0
        assert "Traceback" not in seen.output
        wait_until(lambda: not living(group), "the job ends")
        assert not (project.root / corpus("long")).exists()


def asked(profile: Path, job: str) -> str:
    """Return the status of a job by the profile."""
    return subprocess.run([profile / "status", job], capture_output=True, text=True, check=True).stdout.strip()
