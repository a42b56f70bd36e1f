"""Limits on the memory of a process that runs already."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from missing_software import skip

SMALL_BLOCKS = {"MALLOC_MMAP_THRESHOLD_": "4096"}
"""Makes the C library request memory from the system for each tensor, so that a limit applies immediately."""

_CONTROL = Path("/sys/fs/cgroup")


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
    if (_CONTROL / "memory" / "memory.limit_in_bytes").exists():
        group = Group(_CONTROL / "memory" / name, "memory.limit_in_bytes", "memory.oom_control")
    else:
        group = Group(_CONTROL / name, "memory.max", "memory.events")
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
