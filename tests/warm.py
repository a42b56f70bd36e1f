"""Commands without import times: jobs by headroom's fork server, and a substitute for `snakemake` by another one.

Half of the time of a dry run goes into importing Snakemake. A server imports libraries alone: each command gets
headroom from its own project. What a real Snakemake says is compared with this in test_warm.py.
"""

import functools
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

LIBRARIES = (
    *("snakemake.cli", "snakemake.api", "snakemake.dag", "snakemake.profiles", "snakemake.storage"),
    *("snakemake.executors.dryrun", "snakemake.executors.local", "snakemake.report.html_reporter"),
    *("snakemake_executor_plugin_cluster_generic", "snakemake_executor_plugin_slurm"),
    *("dpath", "yte", "grimp", "requests", "yaml", "packaging.version"),
    *("pydantic.fields", "pydantic.main", "pydantic.type_adapter", "pydantic.types"),
)
"""The modules imported before Snakemake runs."""

SUBSTITUTE = '#!/bin/sh\nexec "{python}" -I "{here}" ask "{address}" "$@"\n'


def _fork_server() -> ModuleType:
    """Return the module without importing the package, which commands import from their own project."""
    place = Path(__file__).parents[1] / "workflow" / "headroom" / "fork_server.py"
    spec = importlib.util.spec_from_file_location("fork_server", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def serve_jobs() -> dict[str, str]:
    """Start a fork server for jobs; return the environment variable that leads them to it."""
    module = _fork_server()
    os.environ.pop(module.ADDRESS, None)
    module.start_server()
    return {module.ADDRESS: os.environ.pop(module.ADDRESS)}


@functools.cache
def substitute_snakemake() -> Path:
    """Return a directory to be put first on PATH, with a `snakemake` that works as long as this process lives."""
    place = Path(tempfile.mkdtemp(prefix="headroom-warm-"))
    command = [sys.executable, __file__, "serve", str(place / "socket")]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    assert server.stdout.readline(), "Snakemake cannot be imported"
    (place / "snakemake").write_text(SUBSTITUTE.format(python=sys.executable, here=__file__, address=place / "socket"))
    (place / "snakemake").chmod(0o755)
    return place


def serve(address: str) -> None:
    """Serve until the tests have ended; in a new process, do what the command `snakemake` does."""
    module = _fork_server()
    module.LIBRARIES["snakemake"] = LIBRARIES
    server = module.Server(module.listen(address))
    print("ready", flush=True)
    if request := server.serve():
        module.become(request)
        command = Path(sys.executable).with_name("snakemake")
        sys.argv[0] = str(command)
        sys.path[:1] = [str(command.parent)]
        importlib.import_module("snakemake.workflow").Workflow._rundir = os.getcwd()  # found out when it is imported
        importlib.import_module("snakemake.cli").main()


def ask(address: str, *arguments: str) -> None:
    """Have a command done and exit as it does."""
    sys.argv[1:] = arguments
    _fork_server().hand_over(address, "snakemake")


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
