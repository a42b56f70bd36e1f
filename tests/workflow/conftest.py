import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from whole_project import Ended, Finished, Project, new_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Run the tiny study, once for all tests and all processes that they are spread over."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    root, record = shared / "finished", shared / "finished.json"
    with locked(shared / "finished.lock"):
        if not record.exists():
            ended = new_project(root).snakemake()
            record.write_text(json.dumps(asdict(ended)))
    return Finished(Project(root), Ended(**json.loads(record.read_text())))


@pytest.fixture(scope="module")
def study(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy of the finished study that a module's tests may change."""
    assert finished.ended.status == 0, finished.ended.output
    return finished.project.copy(tmp_path_factory.mktemp("study") / "project")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time in."""
    with open(path, "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
