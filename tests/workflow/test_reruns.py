import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from headroom.__main__ import STAGES, module_of
from plans import plan, pretend_finished
from reruns.arms import ARM_ROWS, GPUS, STUDY, keys_of_arms
from reruns.classification import CLASSIFICATION
from reruns.files import OF_SOURCE_STAGES, OF_STAGES, OWN, SHARED
from reruns.jobs import Jobs, Row, together, without_configuration
from reruns.sources import SOURCES
from reruns.studies import STUDIES, write_files
from reruns.translation import TRANSLATION
from reruns.whole_study import WHOLE_STUDY
from schema_keys import schema_keys, without_names
from whole_project import Finished, Project, new_project, planned

Pretended = Callable[[str], Project]

OF_TINY = [*WHOLE_STUDY, *TRANSLATION, *CLASSIFICATION]
OF_ARMS = [("arms", row) for row in [*ARM_ROWS, GPUS]]
COPIED = ("results", ".snakemake", "work", "logs", "reports")
BY_PROCESS = ("translation.training.learning_rate", "classification.entailment.gates.random_draws")


def path_of(stage: str) -> str:
    """Return the path of the module that `python -m headroom <stage>` runs."""
    return f"workflow/{module_of(stage).replace('.', '/')}.py"


def ids(value: object) -> str:
    return value.key if isinstance(value, Row) else value if isinstance(value, str) else ""


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Pretended:
    """Return a function for a project in which another study counts as finished, without running it."""
    made: dict[str, Project] = {}

    def project(name: str) -> Project:
        if name not in made:
            made[name] = new_project(tmp_path_factory.mktemp(name) / "project")
            write_files(made[name].root)
            pretend_finished(made[name].root, written(made[name], name, {}))
        return made[name]

    return project


def written(project: Project, name: str, changes: Mapping[str, Any]) -> str:
    """Write a study of `reruns.studies` or `reruns.arms` with some keys changed."""
    sections = STUDY if name == "arms" else STUDIES[name]
    return project.write_study({"study": name, "seeds": [1], **sections}, changes)


ONE_VALUE = {"translation.corpus.dataset (catalogue)"}
"""Keys that cannot be changed: there is one such data set."""


def test_every_key_of_the_configuration_has_its_row() -> None:
    rows = (
        [row.key for rows in SOURCES.values() for row in rows]
        + [row.key for row in OF_TINY]
        + [GPUS.key, *keys_of_arms()]
    )
    assert {without_names(key) for key in rows} == set(schema_keys()) - ONE_VALUE


def test_every_stage_has_its_row() -> None:
    assert {*OF_STAGES, *OF_SOURCE_STAGES} == set(STAGES)


@pytest.mark.parametrize("row", together(OF_TINY), ids=ids)
def test_a_changed_value_reruns_what_depends_on_it(study: Project, row: Row) -> None:
    assert plan(study.root, study.configure(row.changes)) == row.jobs


@pytest.mark.parametrize("row", [row for row in OF_TINY if row.key in BY_PROCESS], ids=ids)
def test_the_command_line_says_the_same(study: Project, row: Row) -> None:
    assert planned(study.snakemake("-n", study=study.configure(row.changes))) == row.jobs


@pytest.mark.parametrize(
    ("name", "row"), [*((name, row) for name, rows in SOURCES.items() for row in together(rows)), *OF_ARMS], ids=ids
)
def test_a_changed_value_of_another_study(pretended: Pretended, name: str, row: Row) -> None:
    project = pretended(name)
    assert plan(project.root, written(project, name, row.changes)) == row.jobs


@pytest.mark.parametrize("name", [*STUDIES, "arms"])
def test_an_unchanged_study_reruns_nothing(pretended: Pretended, name: str) -> None:
    project = pretended(name)
    assert plan(project.root, written(project, name, {})) == {}


@pytest.mark.parametrize(("stage", "jobs"), OF_STAGES.items(), ids=ids)
def test_an_edited_stage_reruns_what_depends_on_it(study: Project, stage: str, jobs: Jobs) -> None:
    with edited(study, path_of(stage)):
        assert plan(study.root) == without_configuration(jobs)


@pytest.mark.parametrize(("path", "jobs"), SHARED.items(), ids=ids)
def test_an_edited_file_reruns_what_depends_on_it(study: Project, path: str, jobs: Jobs) -> None:
    with edited(study, path):
        assert plan(study.root) == without_configuration(jobs)


@pytest.mark.parametrize(
    ("name", "path", "jobs"),
    [
        *((name, path_of(stage), jobs) for stage, (name, jobs) in OF_SOURCE_STAGES.items()),
        *((name, path, jobs) for (name, path), jobs in OWN.items()),
    ],
    ids=ids,
)
def test_an_edited_file_of_another_study(pretended: Pretended, name: str, path: str, jobs: Jobs) -> None:
    project = pretended(name)
    configuration = written(project, name, {})
    with edited(project, path):
        assert plan(project.root, configuration) == without_configuration(jobs)


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


@contextmanager
def edited(project: Project, path: str) -> Iterator[None]:
    """Add a line to a file and take it away again."""
    file = project.root / path
    content = file.read_bytes()
    file.write_bytes(content + b"\n# edited\n")
    try:
        yield
    finally:
        file.write_bytes(content)
