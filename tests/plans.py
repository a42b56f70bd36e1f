"""Dry runs by Snakemake's API in a fork of a process that has planned the project once.

Each dry run has a process of its own, since Snakemake holds on to its workflows and sets signals. What all of them need
is done once before the fork: imports, the graph of the package's imports, parsing of the rules. So one takes half of
the time of the command; no garbage is collected in it.
"""

import functools
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import grimp
from snakemake.api import SnakemakeApi
from snakemake.exceptions import format_exception_to_string
from snakemake.jobs import Job
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, DAGSettings, ExecutionSettings, OutputSettings, ResourceSettings
from snakemake.sourcecache import SourceFile
from snakemake.workflow import Workflow
from whole_project import TINY

COUNTS_ALONE = {Quietness.RULES, Quietness.PROGRESS}
"""With these a dry run ends when it knows its jobs."""

CHECKSUMS = 200_000_000
"""Bytes of the largest file that is compared by content, as in profiles/default."""

Result = TypeVar("Result")

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["snakemake.workflow", "snakemake.dag", "dpath", "grimp", "pydantic", "requests", "yte"])
"""The imports of the Snakefile other than headroom, which is that of the tested project."""


def changed(root: Path, study: str) -> set[str]:
    """Return the rules with jobs whose params or set of inputs are not the recorded ones, or whose outputs are missing.

    Snakemake reruns these jobs, and all those downstream.
    """
    return apart(changed_rules, root, study)


def inputs(root: Path, study: str) -> dict[str, set[str]]:
    """Return the input files of the jobs of every rule."""
    return apart(inputs_of_rules, root, study)


def said(root: Path, study: str) -> str:
    """Return the output of a failed dry run, "" if it succeeds."""
    return apart(message, root, study)


def pretend_finished(root: Path, study: str) -> None:
    """Write all outputs of a study as empty files, and have Snakemake record them as made by its rules as they are."""
    apart(write_outputs, root, study)


def apart(function: Callable[[Path, str], Result], root: Path, study: str) -> Result:
    """Call a function in a process of its own, which comes from one that knows the project already."""
    connection = planner(root)
    connection.send((function, study))
    result, problem = connection.recv()
    if problem:
        raise RuntimeError(f"a dry run failed:\n{problem}")
    return result


@functools.lru_cache(maxsize=4)
def planner(root: Path) -> Connection:
    """Return a connection to a process that answers about a project, and ends with this one."""
    here, there = FORKS.Pipe()
    FORKS.Process(target=serve, args=(there, root), daemon=True).start()
    there.close()
    return here


def serve(connection: Connection, root: Path) -> None:
    """Plan the project once, then answer every question in a fork."""
    remember_what_is_read()
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    message(root, TINY)
    from headroom.study.sources import Sources  # the project's, as its Snakefile has imported it

    Sources.of_stage = functools.cache(Sources.of_stage)
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Snakemake has set it; by it this process ends with its parent
    gc.disable()
    gc.freeze()
    while True:
        try:
            function, study = connection.recv()
        except EOFError:
            return
        answer(connection, function, root, study)


def answer(connection: Connection, function: Callable[[Path, str], object], root: Path, study: str) -> None:
    """Send what a function returns, or how it fails, from a fork."""
    process = os.fork()
    if process:
        if os.waitpid(process, 0)[1]:
            connection.send((None, "its process was killed"))
        return
    try:
        answered = pickle.dumps((function(root, study), ""))
    except BaseException:
        answered = pickle.dumps((None, traceback.format_exc()))
    connection.send_bytes(answered)
    os._exit(0)


def remember_what_is_read() -> None:
    """Parse each file of rules once as it is, and read the package's imports once: no test edits an import."""
    from snakemake import workflow  # not before its API is imported

    grimp.build_graph = functools.cache(grimp.build_graph)
    parse, parsed = workflow.parse, {}

    @functools.wraps(parse)
    def parse_once(path: SourceFile, of: Workflow, *, linemap: dict[int, int], rulecount: int) -> tuple[str, int]:
        name = path.get_path_or_uri(secret_free=True)
        key = (name, os.stat(name).st_mtime_ns, rulecount)
        if key not in parsed:
            parsed[key] = (parse(path, of, linemap=linemap, rulecount=rulecount), linemap.copy())
        code, lines = parsed[key]
        linemap.update(lines)
        return code

    workflow.parse = parse_once


@contextmanager
def dry_run(root: Path, study: str) -> Iterator[Workflow]:
    """Make a dry run of a study in a project's directory, and open the workflow with its jobs.

    Raises:
        WorkflowError: What a dry run fails with.
    """
    with SnakemakeApi(OutputSettings(dryrun=True, quiet=COUNTS_ALONE)) as api:
        opened = api.workflow(
            resource_settings=ResourceSettings(cores=2),
            config_settings=ConfigSettings(configfiles=[root / study]),
            snakefile=root / "Snakefile",
            workdir=root,
        )
        jobs = opened.dag(DAGSettings(max_checksum_file_size=CHECKSUMS))
        jobs.execute_workflow(pseudo_executor="dryrun", execution_settings=ExecutionSettings(lock=False))
        yield opened._workflow


def changed_rules(root: Path, study: str) -> set[str]:
    with dry_run(root, study) as workflow:
        recorded = workflow.persistence

        def differs(job: Job) -> bool:
            known = all(map(os.path.exists, job.output))
            return not known or bool(recorded.params_changed(job)) or any(recorded.input_changed(job))

        return {job.rule.name for job in workflow.dag.jobs if job.output and differs(job)}


def inputs_of_rules(root: Path, study: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    with dry_run(root, study) as workflow:
        for job in workflow.dag.jobs:
            found.setdefault(job.rule.name, set()).update(map(str, job.input))
    return found


def message(root: Path, study: str) -> str:
    try:
        with dry_run(root, study):
            return ""
    except Exception as error:  # as Snakemake's own command line does
        return str(format_exception_to_string(error, {}))


def write_outputs(root: Path, study: str) -> None:
    with dry_run(root, study) as workflow:
        jobs = list(workflow.dag.jobs)
        for file in (file for job in jobs for file in job.output):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).touch()
        workflow.iocache.deactivate()  # it says that the files are not there
        for job in jobs:
            workflow.async_run(workflow.persistence.finished(job))
