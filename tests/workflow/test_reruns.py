"""What an edit reruns: by the inputs and params of jobs, and, for some edits, by the plan of Snakemake itself."""

import functools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from edits import CODE, CONTENTS, FILES, HOW, STUDIES, VALUES
from plans import changed, inputs, pretend_finished
from whole_project import Finished, Project, new_project, planned

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


@pytest.fixture(scope="module")
def rules_with(unfinished: Projects) -> Callable[[str, str], set[str]]:
    """Return a function from a study and a file to the rules whose jobs have it as input."""
    jobs = functools.cache(lambda name: inputs(unfinished(name).root, written(unfinished(name), name, {})))

    def rules(name: str, file: str) -> set[str]:
        assert (unfinished(name).root / file).exists()
        return {rule for rule, files in jobs(name).items() if file in files}

    return rules


def written(project: Project, name: str, changes: Mapping[str, Any]) -> str:
    """Write a study of `edits` with some keys changed."""
    own = json.loads(json.dumps(STUDIES[name]))  # its sections share dictionaries
    return project.write_study({"study": name, "seeds": [1], **own}, changes)


@pytest.mark.parametrize(("name", "changes", "rules"), [(name, *row) for name in VALUES for row in VALUES[name]])
def test_a_changed_value_reruns_what_reads_it(
    pretended: Projects, name: str, changes: Mapping[str, Any], rules: str
) -> None:
    project = pretended(name)
    recorded = {"configuration"} if changes.keys().isdisjoint(HOW) else set()
    assert changed(project.root, written(project, name, changes)) == {*rules.split()} | recorded


@pytest.mark.parametrize(
    ("name", "path", "rules"), [(name, path, rules) for name in CODE for path, rules in CODE[name].items()]
)
def test_an_edited_file_reruns_what_depends_on_it(
    rules_with: Callable[[str, str], set[str]], name: str, path: str, rules: str
) -> None:
    assert rules_with(name, os.path.normpath(f"{PACKAGE}/{path}")) == {*rules.split()}


@pytest.mark.parametrize("name", STUDIES)
def test_an_unchanged_study_reruns_nothing(pretended: Projects, name: str) -> None:
    project = pretended(name)
    assert changed(project.root, written(project, name, {})) == set()


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


def test_results_copied_without_records_count_once_they_are_touched(finished: Finished, tmp_path: Path) -> None:
    clone = new_project(tmp_path / "clone")
    for name in ("results", "reports"):
        shutil.copytree(finished.project.root / name, clone.root / name, copy_function=shutil.copy, dirs_exist_ok=True)
    spent = (clone.root / "results" / "tiny" / "overhead.json").read_bytes()
    assert clone.snakemake("--touch", "--forceall").status == 0
    assert planned(clone.snakemake("-n")) == {}
    assert (clone.root / "results" / "tiny" / "overhead.json").read_bytes() == spent
    changed = planned(clone.snakemake("-n", study=clone.configure({"translation.evaluation.beam": 6})))
    assert changed.keys() >= {"evaluation", "configuration", *CLAIMED}
    assert "training_translation" not in changed


def test_what_no_job_depends_on_reruns_nothing(study: Project) -> None:
    for path in ("README.md", "tests/workflow/test_reruns.py"):
        with open(study.root / path, "a") as stream:
            stream.write("\n")
    rules = study.root / "workflow" / "rules" / "jobs.smk"
    rules.write_text(rules.read_text().replace("        shell:\n", "        # a comment\n        shell:\n"))
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "empty"]):
        own = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        assert study.run("git", *own, *command).status == 0
    assert planned(study.snakemake("-n")) == {}
