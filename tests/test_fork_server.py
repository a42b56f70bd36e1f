"""Jobs in processes of the fork server are those that `python -m headroom` runs itself."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from headroom import fork_server
from headroom.fork_server import ADDRESS, start_server
from study import wait_until

TIME = re.compile(r"\d\d:\d\d:\d\d")
PACKAGE = Path(fork_server.__file__).parents[1]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[psutil.Process]:
    monkeypatch.delenv(ADDRESS, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "1")
    started = start_server()
    assert started is not None
    place = Path(os.environ[ADDRESS]).parent
    yield psutil.Process(started.pid)
    started.kill()
    started.wait()
    shutil.rmtree(place)


def hear_signals() -> None:
    """Let signals end a job that the tests themselves may ignore, e.g. by `nohup`."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(*arguments: str, **more: Any) -> "subprocess.Popen[str]":
    """Start a job of the workflow, in a process group of its own."""
    command = [sys.executable, "-m", "headroom", "--libraries", "plain", *arguments]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{"preexec_fn": hear_signals, "start_new_session": True, **streams, **more})


def finish(arguments: Sequence[str], **more: Any) -> tuple[int, str, str]:
    job = start(*arguments, **more)
    out, err = job.communicate(timeout=120)
    return job.returncode, out, err


@pytest.fixture
def waiting(server: psutil.Process, tmp_path: Path) -> Iterator["tuple[subprocess.Popen[str], psutil.Process]"]:
    """A job that reads from a pipe to which nobody writes, and the process that runs it."""
    pipe = tmp_path / "given.yaml"
    os.mkfifo(pipe)
    job = start("report", "--study", "s", "--configuration", str(pipe), "--output", "page.html", cwd=tmp_path)
    opened: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):  # nobody reads yet
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read, "a job that reads")
    (process,) = server.children()
    yield job, process
    job.kill()
    job.communicate()
    os.close(opened[0])


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_job_says_and_writes_the_same(
    server: psutil.Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["docs", "--table", "configuration.md", "--tables", "tables.md"]
    wrong = ["claims", "--configuration", "none.yaml", "--output", "x.csv", "--numbers", "y.csv"]
    found = []
    for place in ("forked", "plain"):
        (here := tmp_path / place).mkdir()
        said = [TIME.sub("", str(finish(arguments, cwd=here, umask=0o077))) for arguments in (wanted, wrong)]
        files = {path.name: (path.read_text(), path.stat().st_mode) for path in here.iterdir()}
        found.append((said, files))
        monkeypatch.delenv(ADDRESS, raising=False)
    assert found[0] == found[1]
    assert [text[:3] for text in found[0][0]] == ["(0,", "(2,"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_reaches_the_process(waiting: "tuple[subprocess.Popen[str], psutil.Process]", number: int) -> None:
    job, process = waiting
    job.send_signal(number)
    job.wait()
    wait_until(lambda: has_ended(process), "the end of the process")
    assert job.returncode == (130 if number == signal.SIGINT else -number)


def test_a_job_ends_as_its_process_does(waiting: "tuple[subprocess.Popen[str], psutil.Process]") -> None:
    job, process = waiting
    process.kill()
    assert job.wait() == -signal.SIGKILL


def test_the_server_ends_after_its_jobs_and_those_who_started_it(tmp_path: Path) -> None:
    started = (
        "import os, subprocess, sys\n"
        "from headroom.fork_server import ADDRESS, start_server\n"
        "server = start_server()\n"
        "print(server.pid, os.environ[ADDRESS], flush=True)\n"
        "subprocess.run([sys.executable, '-m', 'headroom', '--libraries', 'plain', 'compare', '--help'], stdout=2)\n"
        "sys.stdin.read()\n"
    )
    inherited = {name: value for name, value in os.environ.items() if name != ADDRESS}
    command = [sys.executable, "-c", started]
    starter = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=inherited | {"PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert starter.stdout is not None
    number, address = starter.stdout.readline().split()
    server = psutil.Process(int(number))
    _, said = starter.communicate()
    assert "usage: python -m headroom compare" in said
    wait_until(lambda: has_ended(server), "the end of the server")
    assert not Path(address).parent.exists()
