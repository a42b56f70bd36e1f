"""Jobs without their imports: a stand-in for `python` has a process with the libraries in it fork for every job.

Most of the time of a tiny study goes into importing torch and the like a hundred times. The process imports libraries
alone: each job gets headroom from its own project, with its own arguments, directory, environment and streams. What
jobs of real processes compute is compared with this in test_cluster_generic.py and test_interruption.py, bit by bit.
"""

import atexit
import functools
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

LIBRARIES = (
    *("torch", "fairseq", "fairseq.tasks.translation", "fairseq.sequence_generator", "fairseq.models.transformer"),
    *(
        "fairseq.trainer",
        "transformers",
        "transformers.trainer",
        "transformers.models.bert.modeling_bert",
        "accelerate",
    ),
    *(
        "sentencepiece",
        "sacrebleu",
        "conllu",
        "pandas",
        "scipy.stats",
        "matplotlib.pyplot",
        "seaborn",
        "jinja2",
        "grimp",
    ),
)
STAND_IN = """#!/bin/sh
if [ "$2" = headroom ]; then exec "{python}" -I -S "{here}" "{place}" "$@"; fi
exec "{python}" "$@"
"""


@functools.cache
def stand_in() -> Path:
    """Return a directory to be put first on PATH, with a `python` for jobs; it works as long as this process lives."""
    place = Path(tempfile.mkdtemp(prefix="headroom-warm-"))
    command = [sys.executable, __file__, str(place / "socket")]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    atexit.register(server.kill)
    assert server.stdout is not None
    assert server.stdout.readline(), "the libraries of jobs cannot be imported"
    (place / "python").write_text(STAND_IN.format(python=sys.executable, here=__file__, place=place / "socket"))
    (place / "python").chmod(0o755)
    return place


def serve(path: str) -> None:
    """Fork for every job, until the process that wants jobs has gone."""
    for name in LIBRARIES:
        importlib.import_module(name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for jobs here
    print("ready", flush=True)
    while sys.stdin not in (ready := select.select([listening, sys.stdin], [], [])[0]):
        asked = listening.accept()[0]
        if not os.fork():
            ready.clear()
            work(asked)
        asked.close()


def work(asked: socket.socket) -> None:
    """Do a job in this process, say how it ended, and exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(asked, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    request = json.loads(asked.makefile().readline())
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["headroom", *request["arguments"][2:]]
    sys.path[:1] = [os.getcwd(), *map(os.path.abspath, filter(None, os.environ.get("PYTHONPATH", "").split(":")))]
    importlib.import_module("torch").set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    status: object = 0
    try:
        runpy.run_module("headroom", run_name="__main__", alter_sys=True)
    except SystemExit as exit:
        status = exit.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    asked.sendall(str(status if isinstance(status, int) else 1).encode())
    os._exit(0)


def ask(path: str, *arguments: str) -> None:
    """Have a job done and exit as it does."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(path)
        socket.send_fds(asked, [b"."], [0, 1, 2])
        request = {"arguments": arguments, "directory": os.getcwd(), "environment": dict(os.environ)}
        asked.sendall(json.dumps(request).encode() + b"\n")
        sys.exit(int(asked.recv(4) or 1))  # nothing from a job that was killed


if __name__ == "__main__":
    (ask if sys.argv[2:] else serve)(*sys.argv[1:])
