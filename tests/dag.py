"""The jobs of a study as Snakemake plans them, without a process: what they read, write and are told."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import headroom.missing
import yaml
from headroom.study.sources import Sources
from snakemake.api import SnakemakeApi
from snakemake.exceptions import MissingInputException
from snakemake.settings.enums import Quietness
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    DeploymentSettings,
    OutputSettings,
    ResourceSettings,
    StorageSettings,
    WorkflowSettings,
)
from study import ROOT


@dataclass(frozen=True)
class PlannedJob:
    """A job that is not run; `decided` and `code` are the params by which it is run again."""

    rule: str
    wildcards: dict[str, str]
    stage: str
    decided: dict[str, Any]
    code: str
    libraries: str
    told: dict[str, Any]
    files: tuple[dict[str, str], dict[str, str]]

    @property
    def compared(self) -> tuple[dict[str, Any], str]:
        return self.decided, self.code

    @property
    def run(self) -> str:
        return self.wildcards.get("run", "")


def list_jobs(configuration: Mapping[str, Any] | Path, place: Path) -> list[PlannedJob]:
    """Return the jobs of a study that run programs.

    Args:
        configuration: The study, or its file.
        place: A directory to plan in; files of the user that are missing are made there, empty.
    """
    study = place / "study.yaml"
    given = yaml.safe_load(configuration.read_text()) if isinstance(configuration, Path) else dict(configuration)
    study.write_text(yaml.safe_dump(given))
    before = Path.cwd()
    os.chdir(place)
    try:
        with (
            mock.patch.object(headroom.missing, "missing_files", return_value=[]),
            mock.patch.object(Sources, "digest", _list_sources),
            mock.patch.dict(os.environ),
        ):
            while True:
                try:
                    return _plan(study)
                except MissingInputException as error:
                    for file in str(error).partition("affected files:")[2].split("\n"):
                        if file.strip():
                            Path(file.strip()).parent.mkdir(parents=True, exist_ok=True)
                            Path(file.strip()).touch()
    finally:
        os.chdir(before)


def _list_sources(sources: Sources, module: str, *others: str, engine: str | None = None) -> str:
    return json.dumps([module, *others, engine])


def _plan(study: Path) -> list[PlannedJob]:
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL}, dryrun=True)) as api:
        given = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[study]),
            storage_settings=StorageSettings(),
            workflow_settings=WorkflowSettings(),
            deployment_settings=DeploymentSettings(),
            snakefile=ROOT / "Snakefile",
        )
        given.dag(DAGSettings(forceall=True))
        workflow = given._workflow
        workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        return [_read(job) for job in workflow.dag.jobs if job.params.get("stage")]


def _read(job: Any) -> PlannedJob:
    params = job.params
    files = tuple({name: str(path) for name, path in one.items()} for one in (job.input, job.output))
    decided, told = json.loads(params.decided), json.loads(params.job)
    return PlannedJob(
        job.rule.name, dict(job.wildcards_dict), params.stage, decided, params.code, params.libraries, told, files
    )
