"""Conditions after a fault, and after re-running the same command."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from faults.moments import Moment
from study import Ended, Finished, Project

TIMES = ("seconds", "words_per_second", "examples_per_second")
"""Measures of a training that differ from one run to the next."""


def assert_whole(project: Project, finished: Finished) -> None:
    """Check that every file under its final name is what an undisturbed run made: nothing is half-written."""
    for path in results(project):
        assert alike(path, finished.project.root / path.relative_to(project.root)), f"{path} is not what it must be"


def assert_finished(project: Project, finished: Finished, moment: Moment, ended: Ended) -> None:
    """Check that a rerun ended well, with the results of an undisturbed run, nothing left over, and work resumed."""
    assert ended.status == 0, ended.output
    wanted = {path.relative_to(finished.project.root) for path in made(finished.project, moment)}
    assert wanted, moment.outputs
    assert wanted == {path.relative_to(project.root) for path in made(project, moment)}
    assert_whole(project, finished)
    places = ("results", "reports", "work")
    assert [path for place in places for path in (project.root / place).rglob(".*") if not _snakemakes(path)] == []
    if moment.work:
        assert_resumed(project, finished, moment)


def assert_resumed(project: Project, finished: Finished, moment: Moment) -> None:
    """Check that no more than one epoch was trained again, and that models are equal bit by bit."""
    log = (project.root / moment.log).read_text()
    resumed = re.findall(r"resuming after epoch (\d+)", log)
    assert resumed == [str(moment.epoch)] if moment.epoch else not resumed, log
    for model in [*finished.project.root.glob(f"{moment.work}/epoch*.pt"), *_weights(finished, moment)]:
        mine = project.root / model.relative_to(finished.project.root)
        assert mine.read_bytes() == model.read_bytes(), f"{mine} is another model"


def assert_told(project: Project, moment: Moment, output: str, message: str) -> None:
    """Check that a job's log, which Snakemake shows, ends with one line or two that say what happened."""
    log = (project.root / moment.log).read_text()
    reported = log[log.rfind("error: ") :] if "error: " in log else ""
    assert re.search(message, reported), f"log:\n{log}\noutput:\n{output}"
    assert len(reported.strip().split("\n")) <= 2, log
    assert "Traceback" not in output, output
    assert reported.strip() in output.replace("\n    ", "\n"), output


def results(project: Project) -> Iterator[Path]:
    """Yield the files under their final names, but those that say how long a run took."""
    for place in ("results/tiny", "reports"):
        for path in sorted((project.root / place).rglob("*")):
            hidden = path.name.startswith(".") or any(part.startswith(".") for part in path.parts[-4:-1])
            if path.is_file() and not hidden and "benchmarks" not in path.parts and path.name != "overhead.json":
                yield path


def made(project: Project, moment: Moment) -> list[Path]:
    """Return the files that a moment's job made."""
    known = set(results(project))
    return sorted({path for pattern in moment.outputs for path in project.root.glob(pattern)} & known)


def alike(path: Path, expected: Path) -> bool:
    """Return whether two files are equal, apart from the seconds that a training took."""
    if not expected.is_file():
        return False
    if path.read_bytes() == expected.read_bytes():
        return True
    return path.parent.name in ("training", "training_from_scratch") and _timeless(path) == _timeless(expected)


def _timeless(table: Path) -> list[list[str]]:
    with open(table, encoding="utf-8", newline="") as stream:
        return [row for row in csv.reader(stream) if not set(row) & set(TIMES)]


def _weights(finished: Finished, moment: Moment) -> Iterator[Path]:
    return finished.project.root.glob(f"{moment.work}/epoch*/model.safetensors")


def _snakemakes(path: Path) -> bool:
    return path.name.startswith(".snakemake")
