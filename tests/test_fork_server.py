"""Jobs in processes of the fork server are those that `python -m headroom` runs itself."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest
from headroom import fork_server
from headroom.fork_server import ADDRESS, start_server
from study import PATIENCE, wait_until

DEAF_TO = (signal.SIGINT, signal.SIGHUP)
"""What a program ignores that a script has started by `nohup` in the background, and all that it starts in turn."""

TIME = re.compile(r"\d\d:\d\d:\d\d")
PACKAGE = Path(fork_server.__file__).parents[1]
Job = tuple[subprocess.Popen[str], psutil.Process]
"""A job, and the process of the server that runs it."""


@pytest.fixture(scope="module")
def server() -> Iterator[psutil.Process]:
    """A server that is deaf, as by `nohup`."""
    with patch.dict(os.environ, PYTHONPATH=str(PACKAGE), OMP_NUM_THREADS="1"):
        os.environ.pop(ADDRESS, None)
        before = {number: signal.signal(number, signal.SIG_IGN) for number in DEAF_TO}
        started = start_server()
        for number, handler in before.items():
            signal.signal(number, handler)
        assert started is not None
        yield psutil.Process(started.pid)
        started.kill()
        started.wait(PATIENCE)
        shutil.rmtree(Path(os.environ[ADDRESS]).parent)


def hear_signals() -> None:
    """Let signals end a job that the tests themselves may ignore."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_DFL)


def be_deaf_and_limited() -> None:
    """Ignore signals, and write no file of more than a megabyte."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def start(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start a job of the workflow, in a process group of its own."""
    command = [sys.executable, "-m", "headroom", "--libraries", "plain", *arguments]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{"preexec_fn": hear_signals, "start_new_session": True, **streams, **more})


@pytest.fixture
def waiting(server: psutil.Process, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Job]:
    """A job that reads from a pipe to which nobody writes."""
    pipe = tmp_path / "given.yaml"
    os.mkfifo(pipe)
    command = ["report", "--study", "s", "--configuration", str(pipe), "--output", "page.html"]
    job = start(*command, cwd=tmp_path, preexec_fn=getattr(request, "param", hear_signals))
    opened: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):  # nobody reads yet
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read, "a job that reads")
    (process,) = (child for child in server.children() if not has_ended(child))
    both = (process, psutil.Process(job.pid))
    wait_until(lambda: all(one.status() == psutil.STATUS_SLEEPING for one in both), "processes that wait")
    yield job, process
    job.kill()
    job.communicate(timeout=PATIENCE)
    os.close(opened[0])


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_reaches_the_process(waiting, number):
    job, process = waiting
    job.send_signal(number)  # it ends as its process does
    assert job.wait(PATIENCE) == (130 if number == signal.SIGINT else -number)
    wait_until(lambda: has_ended(process), "the end of the process")


@pytest.mark.parametrize("waiting", [be_deaf_and_limited], indirect=True)
def test_a_process_ignores_what_its_job_ignores_and_has_its_limits(waiting):
    found = []
    for number in (one.pid for one in waiting):
        status = Path(f"/proc/{number}/status").read_text()
        ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        found.append((ignored, psutil.Process(number).rlimit(psutil.RLIMIT_FSIZE)))
    assert found[0] == found[1]
    assert all(found[0][0] >> (number - 1) & 1 for number in DEAF_TO)


def test_a_job_says_and_writes_the_same(server, tmp_path, monkeypatch):
    text = {"source": "generated", "train": 20, "valid": 10, "test": 10}
    wanted = ["acquire", json.dumps({"parallel": text, "output": "corpus"})]
    wrong = ["claims", "--configuration", "none.yaml", "--output", "x.csv", "--numbers", "y.csv"]
    found = []
    for place in ("forked", "plain"):
        (here := tmp_path / place).mkdir()
        jobs = [start(*arguments, cwd=here, umask=0o077) for arguments in (wanted, wrong)]
        said = [(TIME.sub("", str(job.communicate(timeout=PATIENCE))), job.returncode) for job in jobs]
        files = {path.name: (path.read_text(), path.stat().st_mode) for path in here.rglob("*.*")}
        found.append((said, files))
        monkeypatch.delenv(ADDRESS, raising=False)
    assert found[0] == found[1]
    assert [status for _, status in found[0][0]] == [0, 2]


def test_the_server_ends_after_its_jobs_and_those_who_started_it(tmp_path):
    started = (
        "import os, subprocess, sys\n"
        "from headroom.fork_server import ADDRESS, start_server\n"
        "server = start_server()\n"
        "print(server.pid, os.environ[ADDRESS], flush=True)\n"
        "subprocess.run([sys.executable, '-m', 'headroom', '--libraries', 'plain', 'compare', '--help'], stdout=2)\n"
        "sys.stdin.read()\n"
    )
    inherited = {name: value for name, value in os.environ.items() if name != ADDRESS}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    given = inherited | {"PYTHONPATH": str(PACKAGE)}
    starter = subprocess.Popen([sys.executable, "-c", started], env=given, text=True, **streams)
    number, address = starter.stdout.readline().split()
    server = psutil.Process(int(number))
    _, said = starter.communicate(timeout=PATIENCE)
    assert "usage: python -m headroom compare" in said
    wait_until(lambda: has_ended(server), "the end of the server")
    assert not Path(address).parent.exists()
