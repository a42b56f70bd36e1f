"""What a user sees of a study that cannot run, and of jobs that fail: messages, not commands; and nothing is left."""

import os
from pathlib import Path

import pytest
from headroom.data.catalogue import Dataset, read_entries
from study import Ended, Project, environment, new_project, run

pytestmark = pytest.mark.long

BRIEFLY = ("--quiet", "rules", "host")
"""As `make study` calls Snakemake."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return the project before any run."""
    return new_project(tmp_path / "project")


def shown(ended: Ended) -> list[str]:
    """Return what is shown of jobs that failed, without the places of Snakemake's logs."""
    assert ended.status == 1, ended.output
    assert not {"Traceback", "returned non-zero", "died with"} & {*ended.output.split("\n")}
    lines = [line for line in ended.output.split("\n") if line and not line.startswith(("Complete log", "Elapsed"))]
    first = next(number for number, line in enumerate(lines) if " failed; " in line)
    return lines[first:]


def test_what_cannot_run_is_told_before_any_job(project: Project) -> None:
    """Libraries, text and settings at once; test_wrong_values.py has what is wrong in a configuration."""
    bounds = project.root / "pyproject.toml"
    bounds.write_text(bounds.read_text().replace("numpy>=2,<3", "numpy>=1,<2"))
    (project.root / "text").mkdir()
    corpus: dict[str, object] = {"source": "files"}
    for name in ("train", "valid", "test"):
        sides = corpus[name] = {side: f"text/{name}.{side}" for side in ("source", "target")}
        for side, place in sides.items():
            more = (name, side) == ("train", "target")
            (project.root / place).write_text("".join(f"sentence {number}\n" for number in range(40 + more)))
    wrong = {"tasks.translation.corpus": corpus, "tasks.translation.pruning.criteria": ["gradients"]}
    ended = project.snakemake(study=project.configure(wrong))
    assert ended.status == 1
    assert "Traceback" not in ended.output
    for told in (
        "environment: numpy has version 2.",
        "text/train.source: 40 lines, but text/train.target has 41",
        "configuration: tasks.translation.pruning.criteria: unknown criterion 'gradients'",
    ):
        assert told in ended.output
    assert not (project.root / "results").exists()


def test_a_corrupt_file_of_a_mirror_is_refused(project: Project) -> None:
    file = read_entries(Dataset.place, Dataset)["multi30k"].file("train", "source")
    wrong = project.root / "mirror" / file.path
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(b"wrong")
    corpus = {"source": "catalogue", "dataset": "multi30k", "far": []}
    study = project.configure({"tasks.translation.corpus": corpus, "mirror": "mirror", "study": "corrupt"})
    ended = project.snakemake("results/corrupt/translation/binarised/prepared.json", *BRIEFLY, study=study)
    first, *rest = shown(ended)
    assert first == "text failed; the end of logs/corrupt/text/translation.log:"
    message = "".join(rest[:2])
    assert f"mirror/{file.path}: checksum mismatch, expected sha256 {file.sha256}" in message
    assert "replace the file in the mirror" in message
    corpus_files = (project.root / "results" / "corrupt" / "translation" / "corpus").rglob("*")
    assert [path for path in corpus_files if path.is_file()] == []


DYING = """#!/bin/sh
echo '12:00:00 half of it'
case "$*" in
*treebank*) kill -SEGV $$ ;;
*entailment*) kill -TERM $$ ;;
*) kill -KILL $$ ;;
esac
"""
REASONS = {
    ("text", "killed, most likely because it ran out of memory; give it more memory or a smaller batch"),
    ("text", "terminated; re-run the same command"),
    ("treebank", "ended by signal 11; re-run the same command"),
}


def test_jobs_that_a_signal_ends_say_so(project: Project) -> None:
    python = project.root / "bin" / "python"
    python.parent.mkdir()
    python.write_text(DYING)
    python.chmod(0o755)
    inside = environment()
    inside["PATH"] = os.pathsep.join([str(python.parent), inside["PATH"]])
    texts = [f"results/tiny/{task}/corpus/corpus.json" for task in ("translation", "entailment")]
    command = ["snakemake", *texts, "results/tiny/entailment/treebank.conllu", "--cores", "1", "--keep-going", *BRIEFLY]
    ended = run([*command, "--configfile", "tests/workflow/tiny.yaml"], cwd=project.root, env=inside)
    lines = shown(ended)
    found = {(lines[number].split(" ")[0], lines[number + 1]) for number in range(0, len(lines) - 1, 2)}
    assert found == {(rule, f"    error: job: {reason}") for rule, reason in REASONS}
