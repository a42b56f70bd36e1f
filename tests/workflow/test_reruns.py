"""What an edit reruns: by the inputs and params of jobs, and, for some edits, by the plan of Snakemake itself."""

import functools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from edits import CONTENTS, FILES, STUDIES
from plans import pretend_finished
from study import Finished, Project, new_project, planned

pytestmark = pytest.mark.long

Projects = Callable[[str], Project]

PACKAGE = "workflow/headroom"
COPIED = ("results", ".snakemake", "work", "logs", "reports")


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    """Return a function from a study to a project with the files that it names."""

    @functools.cache
    def project(name: str) -> Project:
        made = new_project(tmp_path_factory.mktemp(name) / "project")
        for file in FILES:
            (made.root / file).parent.mkdir(exist_ok=True)
            (made.root / file).write_text(CONTENTS.get(Path(file).suffix, f"{file}\n"))
        return made

    return project


@pytest.fixture(scope="module")
def pretended(unfinished: Projects) -> Projects:
    """Return a function from a study to a project in which it counts as finished, without running it."""

    @functools.cache
    def project(name: str) -> Project:
        made = unfinished(name)
        pretend_finished(made.root, written(made, name, {}))
        return made

    return project


def written(project: Project, name: str, changes: Mapping[str, Any]) -> str:
    """Write a study of `edits` with some keys changed."""
    own = json.loads(json.dumps(STUDIES[name]))  # its sections share dictionaries
    return project.write_study({"study": name, "seeds": [1], **own}, changes)


CLAIMED = {"claims": 1, "report": 1}


@pytest.mark.parametrize(
    ("changes", "jobs"),
    [
        ({}, {}),
        ({"translation.evaluation.beam": 6}, {"evaluation": 2, "configuration": 1, **CLAIMED}),
        (
            {"classification.pairs.bakeoff.retraining.updates": 4},
            {"bakeoff_retraining": 1, "configuration": 1, **CLAIMED},
        ),
    ],
)
def test_snakemake_adds_what_is_downstream_of_a_value(
    pretended: Projects, changes: Mapping[str, Any], jobs: dict[str, int]
) -> None:
    project = pretended("generated")
    study = written(project, "generated", changes)
    assert planned(project.snakemake("-n", study=study)) == jobs


@pytest.mark.parametrize(
    ("path", "jobs"),
    [
        (
            "methods/propagation.py",
            {"attention_stats": 4, "rankings": 1, "roles": 1, "phenomena": 1, "attention_maps": 2, **CLAIMED},
        ),
        ("report/templates/page.css", {"report": 1}),
        ("../../docs/report.md", {}),
    ],
)
def test_snakemake_adds_what_is_downstream_of_a_file(pretended: Projects, path: str, jobs: dict[str, int]) -> None:
    project = pretended("generated")
    study, file = written(project, "generated", {}), project.root / PACKAGE / path
    content = file.read_bytes()
    file.write_bytes(content + b"\n")
    try:
        assert planned(project.snakemake("-n", study=study)) == jobs
    finally:
        file.write_bytes(content)


def test_touching_every_file_reruns_nothing(study: Project) -> None:
    for path in study.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert planned(study.snakemake("-n")) == {}


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2], ids=["new dates", "old dates"])
def test_a_clone_with_copied_results_reruns_nothing(
    finished: Finished, tmp_path: Path, copy: Callable[[str, str], str]
) -> None:
    clone = new_project(tmp_path / "clone")
    for path in clone.root.rglob("*"):
        os.utime(path)
    for name in COPIED:
        shutil.copytree(
            finished.project.root / name, clone.root / name, copy_function=copy, symlinks=True, dirs_exist_ok=True
        )
    assert planned(clone.snakemake("-n")) == {}
