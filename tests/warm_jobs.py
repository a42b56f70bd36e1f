"""Commands without import times: substitutes for `python` and `snakemake` fork a process with the imported modules.

Most of the time of a tiny study goes into importing torch and the like a hundred times, and half of that of a dry run
into importing Snakemake. The process imports libraries alone: each command gets headroom from its own project, with its
own arguments, directory, environment and streams. What jobs of real processes compute is compared with this in
test_cluster_generic.py and test_interruption.py, bit by bit; what a real Snakemake says, in test_warm_jobs.py.
"""

import atexit
import functools
import gc
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
import threading
import traceback
from pathlib import Path

LIBRARIES = {
    "python": (
        *("torch", "fairseq", "fairseq.tasks.translation", "fairseq.sequence_generator", "fairseq.models.transformer"),
        *("fairseq.trainer", "transformers", "transformers.trainer", "transformers.models.bert.modeling_bert"),
        *("accelerate", "sentencepiece", "sacrebleu", "conllu", "pandas", "scipy.stats", "matplotlib.pyplot"),
        *("seaborn", "jinja2", "grimp", "pydantic.fields", "pydantic.main", "pydantic.type_adapter", "pydantic.types"),
        *("fairseq.quantization_utils", "transformers.models.auto.tokenization_auto", "pandas.io.formats.csvs"),
        *("transformers.models.bert.tokenization_bert", "sacrebleu.tokenizers.tokenizer_13a"),
    ),
    "snakemake": (
        *("snakemake.cli", "snakemake.api", "snakemake.dag", "snakemake.profiles", "snakemake.storage"),
        *("snakemake.executors.dryrun", "snakemake.executors.local", "snakemake.report.html_reporter"),
        *("snakemake_executor_plugin_cluster_generic", "snakemake_executor_plugin_slurm"),
        *("dpath", "yte", "grimp", "requests", "yaml", "packaging.version"),
        *("pydantic.fields", "pydantic.main", "pydantic.type_adapter", "pydantic.types"),
    ),
}
"""The modules imported before a command runs; of `python`, those of jobs."""

STAND_IN = """#!/bin/sh
if [ {when} ]; then exec "{python}" -I -S "{here}" "{place}" "$@"; fi
exec "{command}" "$@"
"""
WHEN = {"python": '"$2" = headroom', "snakemake": "1"}


@functools.cache
def stand_in(program: str) -> Path:
    """Return a directory to be put first on PATH, with a `python` for jobs or a `snakemake`.

    It works as long as this process lives.
    """
    place = Path(tempfile.mkdtemp(prefix="headroom-warm-"))
    command = [sys.executable, __file__, program, str(place / "socket")]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    atexit.register(server.kill)
    assert server.stdout is not None
    assert server.stdout.readline(), f"what {program} needs cannot be imported"
    script = STAND_IN.format(
        when=WHEN[program],
        python=sys.executable,
        here=__file__,
        place=place / "socket",
        command=Path(sys.executable).with_name(program),
    )
    (place / program).write_text(script)
    (place / program).chmod(0o755)
    return place


def serve(program: str, path: str) -> None:
    """Fork for every command, until the process that wants them has gone."""
    for name in LIBRARIES[program]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here now stays, and is shared
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # commands are not waited for here
    print("ready", flush=True)
    while sys.stdin not in (ready := select.select([listening, sys.stdin], [], [])[0]):
        asked = listening.accept()[0]
        if not os.fork():
            ready.clear()
            work(program, asked)
        asked.close()


def work(program: str, asked: socket.socket) -> None:
    """Do what a command does in this process, say how it ended, and exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(asked, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    request = json.loads(asked.makefile().readline())
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    status: object = 0
    try:
        {"python": run_job, "snakemake": run_snakemake}[program](request["arguments"])
    except SystemExit as exit:
        status = exit.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as at the end of any process
    atexit._run_exitfuncs()
    sys.stdout.flush()
    asked.sendall(str(status if isinstance(status, int) else 1).encode())
    os._exit(0)


def run_job(arguments: list[str]) -> None:
    """Do what `python -m headroom` does."""
    sys.argv = ["headroom", *arguments[2:]]
    sys.path[:1] = [os.getcwd(), *map(os.path.abspath, filter(None, os.environ.get("PYTHONPATH", "").split(":")))]
    importlib.import_module("torch").set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    runpy.run_module("headroom", run_name="__main__", alter_sys=True)


def run_snakemake(arguments: list[str]) -> None:
    """Do what the command `snakemake` does."""
    command = Path(sys.executable).with_name("snakemake")
    sys.argv = [str(command), *arguments]
    sys.path[:1] = [str(command.parent)]
    importlib.import_module("snakemake.workflow").Workflow._rundir = os.getcwd()  # found out when it is imported
    importlib.import_module("snakemake.cli").main()


def ask(path: str, *arguments: str) -> None:
    """Have a command done and exit as it does."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(path)
        socket.send_fds(asked, [b"."], [0, 1, 2])
        request = {"arguments": arguments, "directory": os.getcwd(), "environment": dict(os.environ)}
        asked.sendall(json.dumps(request).encode() + b"\n")
        sys.exit(int(asked.recv(4) or 1))  # nothing from a command that was killed


if __name__ == "__main__":
    (serve if sys.argv[1] in LIBRARIES else ask)(*sys.argv[1:])
