import json
from dataclasses import asdict
from pathlib import Path

import pytest
from made_once import made_once
from study import Ended, Finished, Project, new_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Run the tiny study."""
    directory = made_once(tmp_path_factory, "finished", run_tiny_study)
    return Finished(Project(directory / "project"), Ended(**json.loads((directory / "ended.json").read_text())))


def run_tiny_study(directory: Path) -> None:
    ended = new_project(directory / "project").snakemake()
    assert ended.status == 0, ended.output
    (directory / "ended.json").write_text(json.dumps(asdict(ended)))


@pytest.fixture(scope="module")
def study(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy of the finished study that a module's tests may change."""
    return finished.project.copy(tmp_path_factory.mktemp("study") / "project")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the project before any run, shared by tests that build nothing."""
    return new_project(tmp_path_factory.mktemp("bare") / "project")
