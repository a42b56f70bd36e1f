"""Conditions after a fault, and after re-running the same command."""

import re
from collections.abc import Iterator
from pathlib import Path

from faults.moments import Moment
from study import Ended, Finished, Project, rows


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
    hidden = (path for place in ("results", "reports", "work") for path in (project.root / place).rglob(".*"))
    assert [path for path in hidden if not path.name.startswith(".snakemake")] == []
    if moment.work:
        assert_resumed(project, finished, moment)


def assert_resumed(project: Project, finished: Finished, moment: Moment) -> None:
    """Check that no more than one epoch was trained again, and that models are equal bit by bit."""
    log = (project.root / moment.log).read_text()
    resumed = re.findall(r"resuming after epoch (\d+)", log)
    assert resumed == [str(moment.epoch)] if moment.epoch else not resumed, log
    whole = finished.project.root / moment.work
    for model in [*whole.glob("epoch*.pt"), *whole.glob("epoch*/model.safetensors")]:
        mine = project.root / model.relative_to(finished.project.root)
        assert mine.read_bytes() == model.read_bytes(), f"{mine} is another model"


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
    if not expected.is_file() or path.read_bytes() == expected.read_bytes():
        return expected.is_file()
    return path.parent.name in ("training", "training_from_scratch") and rows(path) == rows(expected)
