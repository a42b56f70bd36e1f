"""A real Slurm on this machine: one controller and one node, started for tests and stopped by them.

Slurm reads /etc/slurm/slurm.conf and nothing else in the steps of a job. So that the machine keeps its own, daemons and
commands run in a mount namespace in which that directory is the test's.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from study import wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "munged", "unshare", "nsenter")

HERE = ("--slurm-no-account", "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "3")
"""Snakemake's settings for a cluster without accounting, with the first status check after 3 s instead of 10."""

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
CredType=cred/munge
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
MinJobAge=7200
KillWait=5
MaxArraySize=1001
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 CoresPerSocket=4 RealMemory=64000 Gres=gpu:1
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A running Slurm: where its files are, and the process that holds its mount namespace."""

    place: Path
    holder: int

    def inside(self, directory: Path, *command: str) -> list[str]:
        """Return a command as it is run where this Slurm is the machine's."""
        return ["nsenter", f"--mount=/proc/{self.holder}/ns/mnt", f"--wd={directory}", *command]

    def ask(self, *command: str) -> str:
        """Return the output of one of Slurm's commands."""
        return subprocess.run(self.inside(self.place, *command), check=True, capture_output=True, text=True).stdout


def missing() -> str:
    """Return why no Slurm can be started here; "" if one can."""
    if os.geteuid() != 0:
        return "Slurm's daemons and its mount namespace need root"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{absent[0]} is not installed"
    unshared = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    return "" if unshared.returncode == 0 else "mount namespaces are not allowed here"


@contextmanager
def running(place: Path) -> Iterator[Slurm]:
    """Start Slurm with its files in a directory; stop it at the end, with all of its jobs."""
    configure(place)
    bound = f"mkdir -p /etc/slurm && mount --bind {place}/etc /etc/slurm && exec sleep infinity"
    holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "bash", "-c", bound])
    slurm = Slurm(place, holder.pid)
    try:
        wait_until(lambda: Path(f"/proc/{holder.pid}/comm").read_text().strip() == "sleep", "the mount namespace")
        munge = place / "munge"
        files = [f"--{name}-file={munge}/{name}" for name in ("key", "pid", "log", "seed")]
        subprocess.run(slurm.inside(place, "munged", "--force", f"--socket={munge}/socket", *files), check=True)
        subprocess.run(slurm.inside(place, "slurmctld", "-c"), check=True)
        subprocess.run(slurm.inside(place, "slurmd", "-N", socket.gethostname()), check=True)
        wait_until(lambda: "idle" in slurm.ask("sinfo", "--noheader", "--format=%T"), "an idle node")
        yield slurm
    finally:
        subprocess.run(slurm.inside(place, "scancel", "--user=root"), capture_output=True)
        for pid_file in (place / "slurmd.pid", place / "slurmctld.pid", place / "munge" / "pid"):
            _end(pid_file)
        holder.kill()
        holder.wait()


def configure(place: Path) -> None:
    """Write the configuration of a node with four cores, of which it has as many as it has, and a GPU that is none."""
    for name in ("etc", "state", "spool", "munge"):
        (place / name).mkdir(parents=True)
    (place / "munge").chmod(0o755)
    key = place / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    ports = {"controller_port": free_port(), "node_port": free_port()}
    host = socket.gethostname()
    (place / "etc" / "slurm.conf").write_text(CONFIGURATION.format(place=place, host=host, **ports))
    (place / "etc" / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _end(pid_file: Path) -> None:
    """End a daemon and wait until it is gone."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, sent)
            for _ in range(50):
                os.kill(pid, 0)
                time.sleep(0.1)
        except ProcessLookupError:
            return
