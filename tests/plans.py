"""What Snakemake would run, asked of its API in a fork of a process that has imported it: 1 s instead of 3.

Each dry run has a process of its own: Snakemake holds on to its workflows, 9 MB each, and sets signals.
"""

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from snakemake.api import SnakemakeApi
from snakemake.exceptions import format_exception_to_string
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, DAGSettings, ExecutionSettings, OutputSettings, ResourceSettings
from snakemake.workflow import Workflow
from whole_project import TINY

COUNTS_ALONE = {Quietness.RULES, Quietness.PROGRESS}
"""With these a dry run ends when it knows its jobs."""

CHECKSUMS = 200_000_000
"""Bytes of the largest file that is compared by content, as in profiles/default."""

Result = TypeVar("Result")

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["snakemake.workflow", "snakemake.dag", "dpath", "grimp", "pydantic", "requests", "yte"])
"""What the Snakefile imports besides headroom, which is the one of the project that is asked."""


def plan(root: Path, study: str = TINY) -> dict[str, int]:
    """Return how many jobs of every rule would run; the target `all` is left out."""
    return apart(count_jobs, root, study)


def said(root: Path, study: str) -> str:
    """Return what a dry run that fails prints, "" if it does not fail."""
    return apart(message, root, study)


def pretend_finished(root: Path, study: str) -> None:
    """Write all outputs of a study as empty files, and have Snakemake record them as made by its rules as they are."""
    apart(write_outputs, root, study)


def apart(function: Callable[[Path, str], Result], root: Path, study: str) -> Result:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, FORKS) as process:
        return process.submit(function, root, study).result()


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


def count_jobs(root: Path, study: str) -> dict[str, int]:
    with dry_run(root, study) as workflow:
        return dict(Counter(job.rule.name for job in workflow.dag.needrun_jobs() if job.output))


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
