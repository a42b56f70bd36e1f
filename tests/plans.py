"""What Snakemake would run, asked of its API in this process: one second instead of the three of `snakemake -n`."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def dry_run(root: Path, study: str) -> Iterator[Workflow]:
    """Make a dry run of a study in a project's directory, and open the workflow with its jobs.

    Raises:
        WorkflowError: What a dry run fails with.
    """
    with sigterm_kept(), SnakemakeApi(OutputSettings(dryrun=True, quiet=COUNTS_ALONE)) as api:
        opened = api.workflow(
            resource_settings=ResourceSettings(cores=2),
            config_settings=ConfigSettings(configfiles=[root / study]),
            snakefile=root / "Snakefile",
            workdir=root,
        )
        jobs = opened.dag(DAGSettings(max_checksum_file_size=CHECKSUMS))
        jobs.execute_workflow(pseudo_executor="dryrun", execution_settings=ExecutionSettings(lock=False))
        yield opened._workflow


@contextmanager
def sigterm_kept() -> Iterator[None]:
    """Keep what SIGTERM does to this process: Snakemake's scheduler would have it do nothing from now on."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def plan(root: Path, study: str = TINY) -> dict[str, int]:
    """Return how many jobs of every rule would run; the target `all` is left out."""
    with dry_run(root, study) as workflow:
        return dict(Counter(job.rule.name for job in workflow.dag.needrun_jobs() if job.output))


def said(root: Path, study: str) -> str:
    """Return what a dry run that fails prints, "" if it does not fail."""
    try:
        with dry_run(root, study):
            return ""
    except Exception as error:  # as Snakemake's own command line does
        return str(format_exception_to_string(error, {}))


def pretend_finished(root: Path, study: str) -> None:
    """Write all outputs of a study as empty files, and have Snakemake record them as made by its rules as they are."""
    with dry_run(root, study) as workflow:
        jobs = list(workflow.dag.jobs)
        for file in (file for job in jobs for file in job.output):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).touch()
        workflow.iocache.deactivate()  # it says that the files are not there
        for job in jobs:
            workflow.async_run(workflow.persistence.finished(job))
