"""What a user sees of jobs: a line of a finished one, a line and the message of a failed one, not the whole command."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from study import Ended, Project, environment, new_project, own_text, run

pytestmark = pytest.mark.long

TEXT = "results/own/translation/corpus/corpus.json"
TREES = "results/own/translation/treebank.conllu"
LOG = "logs/own/text/translation.log"
BRIEFLY = ("--quiet", "rules", "host")
MODES = pytest.mark.parametrize("mode", [BRIEFLY, ()], ids=["make study", "snakemake"])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project with parallel text of its own, and a tree without a root."""
    project = new_project(tmp_path / "project")
    (project.root / "own.conllu").write_text("1\tdogs\tdog\tNOUN\t_\t_\t7\tdep\t_\t_\n\n")
    own_text(project, {"translation.treebank": {"source": "files", "path": "own.conllu"}})
    return project


@pytest.fixture
def dying(project: Project) -> Callable[[int], Ended]:
    """Return a function that runs a job whose process ends by a signal, after a line of its log."""

    def call(number: int, *mode: str) -> Ended:
        python = project.root / "bin" / "python"
        python.parent.mkdir()
        python.write_text(f"#!/bin/sh\necho '12:00:00 half of it'\nkill -{number} $$\n")
        python.chmod(0o755)
        inside = environment()
        command = ["snakemake", TEXT, "--cores", "1", "--configfile", "changed.yaml", *mode]
        paths = os.pathsep.join([str(python.parent), inside["PATH"]])
        return run(command, cwd=project.root, env=inside | {"PATH": paths})

    return call


def shown(ended: Ended) -> list[str]:
    """Return what is shown after the plan of a run, without the places of Snakemake's logs."""
    assert ended.status == 1
    lines = [line for line in ended.output.split("\n") if line and not line.startswith(("Complete log", "Elapsed"))]
    first = next(number for number, line in enumerate(lines) if " failed; " in line)
    assert "returned non-zero" not in ended.output
    assert "died with" not in ended.output
    return lines[first:]


@MODES
def test_a_refusal_is_its_message(project: Project, mode: tuple[str, ...]) -> None:
    ended = project.snakemake(TREES, *mode, study="changed.yaml")
    first, message = shown(ended)
    assert first == "treebank failed; the end of logs/own/treebank/translation.log:"
    assert message.startswith("    error: own.conllu, line 1: ")
    assert ("python -m headroom --libraries" in ended.output) == (mode == ())  # the command, before the job started


@MODES
@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "killed, most likely because it ran out of memory; give it more memory or a smaller batch"),
        (signal.SIGTERM, "terminated; re-run the same command"),
        (signal.SIGSEGV, "ended by signal 11; re-run the same command"),
    ],
)
def test_a_job_that_a_signal_ends_says_so(dying, number: int, reason: str, mode: tuple[str, ...]) -> None:
    lines = [f"text_translation failed; the end of {LOG}:", f"    error: job: {reason}"]
    assert shown(dying(number, *mode)) == lines
