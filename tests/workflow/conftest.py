import json

import pytest
from golden.write import run_once
from study import Ended, Finished, Project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The tiny study after its first run, which is also compared with its golden tables; read-only."""
    project = run_once(tmp_path_factory, "tiny")
    return Finished(project, Ended(**json.loads((project.root.parent / "ended.json").read_text())))


@pytest.fixture(scope="module")
def study(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy of the finished study that a module's tests may change."""
    return finished.project.copy(tmp_path_factory.mktemp("study") / "project")
