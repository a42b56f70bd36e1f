"""Snakemake with one running job, which stops at a given moment for the injection of a fault."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from faults.moments import Moment
from study import PATIENCE, TINY, Project, environment, hear_interrupts, wait_until

LONG = 10 * PATIENCE
"""Seconds in which a training has ended on any machine."""

INJECTED = Path(__file__).parent / "injected"

_STAND_IN = """#!/bin/sh
# Stands for `python` in the jobs of a disturbed run, `-m headroom [options] STAGE` or several stages as JSON: one stage
# gets what stops it, and a process of its own.
case "$*" in *" {stage} "*|*'[["{stage}",'*)
    unset HEADROOM_FORK_SERVER
    export PYTHONPATH="$PYTHONPATH:{injected}" {variables};;
esac
exec "{python}" "$@"
"""


@dataclass(frozen=True)
class Disturbed:
    """Snakemake, in a process group of its own, and the process of its job, which is stopped."""

    snakemake: "subprocess.Popen[bytes]"
    job: int
    said: Path

    def go_on(self) -> None:
        """Let the stopped job continue."""
        os.kill(self.job, signal.SIGCONT)

    def end(self) -> int:
        """Wait until Snakemake and the job have ended; return Snakemake's exit status."""
        status = self.snakemake.wait(LONG)
        wait_until(lambda: state_of(self.job) in ("", "Z", "X"), f"the end of process {self.job}")
        return status

    @property
    def output(self) -> str:
        """All that Snakemake and its jobs have said so far."""
        return self.said.read_text(errors="replace")


@contextmanager
def disturbed(
    project: Project, moment: Moment, place: Path, variables: Mapping[str, str] | None = None
) -> Iterator[Disturbed]:
    """Run Snakemake until its job has stopped at a moment.

    Args:
        project: Where.
        moment: When, and the target of Snakemake.
        place: A directory outside of the project.
        variables: More environment variables for the job.

    Raises:
        AssertionError: If the job ends without coming to the moment.
    """
    said, stopped = place / "said.txt", place / "stopped"
    given = {**(variables or {}), "HEADROOM_STOP": moment.stop, "HEADROOM_STOPPED": str(stopped)}
    words = " ".join(f"{name}='{value}'" for name, value in given.items())
    (stand_in := place / "bin" / "python").parent.mkdir()
    python = Path(sys.prefix) / "bin" / "python"
    stand_in.write_text(_STAND_IN.format(stage=moment.stage, injected=INJECTED, variables=words, python=python))
    stand_in.chmod(0o755)
    command = ["snakemake", moment.outputs[0], "--cores", "2", "--configfile", TINY]
    jobs = environment()
    jobs["PATH"] = f"{place / 'bin'}{os.pathsep}{jobs['PATH']}"
    with open(said, "wb") as stream:
        running = subprocess.Popen(
            command, cwd=project.root, env=jobs, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            start_new_session=True, preexec_fn=hear_interrupts,
        )  # fmt: skip
    job = 0
    try:
        job = wait_for_stop(stopped, running, said)
        yield Disturbed(running, job, said)
    finally:
        with suppress(ProcessLookupError):  # has ended, as it should
            os.killpg(running.pid, signal.SIGKILL)
        if job:  # may have been left alone
            with suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
        running.wait(PATIENCE)


def wait_for_stop(stopped: Path, running: "subprocess.Popen[bytes]", said: Path) -> int:
    """Return the number of the process that has stopped at its moment."""
    latest = time.monotonic() + LONG
    while True:
        note = stopped.read_text() if stopped.exists() else ""
        if note and state_of(int(note)) == "T":
            return int(note)
        assert running.poll() is None, f"ended before its moment:\n{said.read_text()}"
        assert time.monotonic() < latest, f"did not come to its moment:\n{said.read_text()}"
        time.sleep(0.01)


def state_of(process: int) -> str:
    """Return Linux's letter of a process's state; empty without such a process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def forget(project: Project, moment: Moment) -> None:
    """Remove what a job has made, as if it had never run."""
    for pattern in moment.outputs:
        for path in project.root.glob(pattern):
            if path.is_file():
                path.unlink()
    if moment.work:
        shutil.rmtree(project.root / moment.work)
