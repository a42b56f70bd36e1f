"""The disk is full as a stage writes, or memory is missing; with enough of it, the same command finishes."""

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_whole
from faults.disturbing import disturbed, forget
from faults.moments import CLASSIFIER, GATES_MODEL, RESULTS, TABLE, TRAIN_STATE, TUNE_STATE, Moment
from missing_software import skip
from study import Finished, Project

ROOM = 16 * 2**20
"""Bytes that are free on the small disk until it is filled."""


@contextmanager
def small_disk(place: Path, aside: Path) -> Iterator[Path]:
    """Mount a small disk in memory over a directory, which is made if needed, with the directory's content on it.

    The content is kept aside meanwhile. Yields the path of a file that may be made to fill the disk.
    """
    if os.geteuid() != 0:
        skip("root", "it alone can mount a small disk")
    place.mkdir(parents=True, exist_ok=True)
    shutil.copytree(place, aside, symlinks=True)
    size = sum(path.stat().st_blocks * 512 for path in aside.rglob("*")) + ROOM
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "headroom-test", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        skip("root", f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        shutil.copytree(aside, place, symlinks=True, dirs_exist_ok=True)
        yield place / "ballast"
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill_disk(ballast: Path) -> None:
    """Fill a disk to the last byte."""
    with open(ballast, "wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(2**20))
    assert shutil.disk_usage(ballast.parent).free == 0


SMALL_BLOCKS = {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_ARENA_MAX": "1"}
"""Makes the C library request memory from the system for each tensor, so that a limit applies immediately.

Without the second, it takes what is missing from the address space that is reserved for threads which have ended.
"""


def forbid_more(process: int) -> None:
    """Let a process have the address space that it has now, and no more."""
    status = Path(f"/proc/{process}/status").read_text()
    size = 1024 * int(status.partition("VmSize:")[2].split()[0])
    resource.prlimit(process, resource.RLIMIT_AS, (size, size))


@dataclass(frozen=True)
class Group:
    """A control group of Linux: processes that share a limit of memory, beyond which the system kills."""

    place: Path
    limit: str
    events: str

    def hold(self, process: int, kilobytes: int) -> None:
        """Limit what a process may take from now on."""
        (self.place / self.limit).write_text(str(kilobytes * 1024))
        (self.place / "cgroup.procs").write_text(str(process))

    @property
    def killed(self) -> int:
        """The number of processes that the system has killed because of missing memory."""
        return int((self.place / self.events).read_text().partition("oom_kill ")[2].split()[0])


@contextmanager
def control_group(name: str) -> Iterator[Group]:
    """Make a control group, of either version of Linux's interface."""
    control = Path("/sys/fs/cgroup")
    if (control / "memory" / "memory.limit_in_bytes").exists():
        group = Group(control / "memory" / name, "memory.limit_in_bytes", "memory.oom_control")
    else:
        group = Group(control / name, "memory.max", "memory.events")
    try:
        group.place.mkdir()
    except OSError as error:
        skip("root", f"no control group can be made here: {error}")
    try:
        if not (group.place / group.limit).exists():
            skip("root", f"control groups have no {group.limit} here, so that nothing is killed for memory")
        yield group
    finally:
        group.place.rmdir()


def assert_told(project: Project, moment: Moment, output: str, message: str) -> None:
    """Check that a job's log, which Snakemake shows, ends with one line or two that say what happened."""
    log = (project.root / moment.log).read_text()
    reported = log[log.rfind("error: ") :] if "error: " in log else ""
    assert re.search(message, reported), f"log:\n{log}\noutput:\n{output}"
    assert len(reported.strip().split("\n")) <= 2, log
    assert "Traceback" not in output, output
    assert reported.strip() in output.replace("\n    ", "\n"), output


FULL = {
    # Where the job is stopped, so that what it writes next fails, and the directory that is on the full disk.
    TRAIN_STATE: ("open */.state2.pt.*", TRAIN_STATE.work),
    TUNE_STATE: ("open */states/*/trainer_state.json@2", TUNE_STATE.work),
    GATES_MODEL: ("open */new/config.json", f"{RESULTS}/pruned_models/{CLASSIFIER}"),
    # Neither the job's log nor Snakemake's records can be written then; Snakemake's complaints are its own.
    TABLE: ("open */agreement/.*.csv.*", "."),
}
NO_SPACE = r"error: .*no space left on the disk.*; free space .*and re-run the same command"


@pytest.mark.parametrize(("moment", "fault"), [(moment, "disk full") for moment in FULL], ids=str)
def test_the_disk_is_full(project: Project, finished: Finished, tmp_path: Path, moment: Moment, fault: str) -> None:
    forget(project, moment)
    stop, directory = FULL[moment]
    with small_disk(project.root / directory, tmp_path / "aside") as ballast:
        with disturbed(project, replace(moment, stop=stop), tmp_path) as run:
            fill_disk(ballast)
            run.go_on()
            assert run.end() != 0, run.output
        if directory == ".":
            assert "error: no space left on the disk: cannot write; free space and re-run" in run.output, run.output
        else:
            assert_told(project, moment, run.output, NO_SPACE)
        ballast.unlink()
        assert_whole(project, finished)
        assert_finished(project, finished, moment, project.snakemake(moment.outputs[0]))


WITHOUT = {
    "MemoryError": replace(TRAIN_STATE, name="training: in the middle of epoch 1", stop="place */epoch0.5.pt", epoch=0),
    "killed for memory": replace(
        TUNE_STATE, name="fine-tuning: between two epochs", stop="place */states/*/complete.json"
    ),
}


@pytest.mark.parametrize(("moment", "fault"), [(moment, fault) for fault, moment in WITHOUT.items()], ids=str)
def test_memory_is_missing(project: Project, finished: Finished, tmp_path: Path, moment: Moment, fault: str) -> None:
    forget(project, moment)
    with disturbed(project, moment, tmp_path, SMALL_BLOCKS) as run:
        if fault == "MemoryError":
            forbid_more(run.job)
            run.go_on()
            assert run.end() == 1, run.output
        else:
            with control_group(f"headroom-test-{run.job}") as group:
                group.hold(run.job, kilobytes=64)
                run.go_on()
                assert run.end() == 1, run.output
                assert group.killed == 1, "the job did not need memory"
    if fault == "MemoryError":
        assert_told(
            project, moment, run.output, "error: out of memory: the allocation failed; give the job more memory"
        )
    else:
        assert "error: job: killed, most likely because it ran out of memory" in run.output, run.output
        assert "Traceback" not in run.output
    assert_whole(project, finished)
    assert_finished(project, finished, moment, project.snakemake(moment.outputs[0]))
