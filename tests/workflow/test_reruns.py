"""What an edit reruns: by the inputs and params of jobs, and, for some edits, by the plan of Snakemake itself."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from edits import CODE, FILES, HOW, STUDIES, VALUES
from plans import changed, inputs, pretend_finished
from whole_project import Finished, Project, new_project, planned

pytestmark = pytest.mark.long

Pretended = Callable[[str], Project]

PACKAGE = "workflow/headroom"
COPIED = ("results", ".snakemake", "work", "logs", "reports")


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Pretended:
    """Return a function for a project in which a study counts as finished, without running it."""
    made: dict[str, Project] = {}

    def project(name: str) -> Project:
        if name not in made:
            made[name] = new_project(tmp_path_factory.mktemp(name) / "project")
            for file in FILES:
                (made[name].root / file).parent.mkdir(exist_ok=True)
                (made[name].root / file).write_text(f"{file}\n")
            pretend_finished(made[name].root, written(made[name], name, {}))
        return made[name]

    return project


def written(project: Project, name: str, changes: Mapping[str, Any]) -> str:
    """Write a study of `edits` with some keys changed."""
    own = json.loads(json.dumps(STUDIES[name]))  # its sections share dictionaries
    return project.write_study({"study": name, "seeds": [1], **own}, changes)


@pytest.fixture(scope="module")
def sources(pretended: Pretended) -> Callable[[str], dict[str, set[str]]]:
    """Return a function from a study to the input files of each of its rules."""
    found: dict[str, dict[str, set[str]]] = {}

    def files(name: str) -> dict[str, set[str]]:
        if name not in found:
            project = pretended(name)
            found[name] = inputs(project.root, written(project, name, {}))
        return found[name]

    return files


@pytest.mark.parametrize(("name", "changes", "rules"), [(name, *row) for name in VALUES for row in VALUES[name]])
def test_a_changed_value_reruns_what_reads_it(
    pretended: Pretended, name: str, changes: Mapping[str, Any], rules: str
) -> None:
    project = pretended(name)
    recorded = {"configuration"} if changes.keys().isdisjoint(HOW) else set()
    assert changed(project.root, written(project, name, changes)) == {*rules.split()} | recorded


@pytest.mark.parametrize(
    ("name", "path", "rules"), [(name, path, rules) for name in CODE for path, rules in CODE[name].items()]
)
def test_an_edited_file_reruns_what_depends_on_it(
    sources: Callable[[str], dict[str, set[str]]], pretended: Pretended, name: str, path: str, rules: str
) -> None:
    file = os.path.normpath(f"{PACKAGE}/{path}")
    assert (pretended(name).root / file).exists()
    assert {rule for rule, files in sources(name).items() if file in files} == {*rules.split()}


@pytest.mark.parametrize("name", STUDIES)
def test_an_unchanged_study_reruns_nothing(pretended: Pretended, name: str) -> None:
    project = pretended(name)
    assert changed(project.root, written(project, name, {})) == set()


CLAIMED = {"claims": 1, "report": 1}


@pytest.mark.parametrize(
    ("changes", "jobs"),
    [
        ({}, {}),
        ({"translation.evaluation.beam": 6}, {"evaluation": 2, "arms": 1, "configuration": 1, **CLAIMED}),
        (
            {"classification.pairs.bakeoff.retraining.updates": 4},
            {"bakeoff_retraining": 1, "configuration": 1, **CLAIMED},
        ),
    ],
)
def test_snakemake_adds_what_is_downstream_of_a_value(
    pretended: Pretended, changes: Mapping[str, Any], jobs: dict[str, int]
) -> None:
    project = pretended("generated")
    study = written(project, "generated", changes)
    assert planned(project.snakemake("-n", study=study)) == jobs


@pytest.mark.parametrize(
    ("path", "jobs"),
    [
        ("methods/propagation.py", {"relevance": 4, "rank_correlation": 2, **CLAIMED}),
        ("report/templates/page.css", {"report": 1}),
        ("../../docs/report.md", {}),
    ],
)
def test_snakemake_adds_what_is_downstream_of_a_file(pretended: Pretended, path: str, jobs: dict[str, int]) -> None:
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
