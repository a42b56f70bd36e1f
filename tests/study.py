"""Commands, copies of the project and studies in them, and comparisons of the tables of two studies."""

import copy
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

PATIENCE = 240.0
"""Seconds until what takes some seconds must have happened; only what hangs takes as long on any machine."""


@dataclass(frozen=True)
class Ended:
    """The result of a command: exit status, output, and run time in seconds."""

    status: int
    output: str
    seconds: float


class HangingError(AssertionError):
    """Something that did not happen in time."""


def run(
    command: Sequence[str | os.PathLike[str]], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a command to its end, in this process's environment unless another is given."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:  # no pipe: what the command leaves behind may hold it open
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        ended = subprocess.run(command, cwd=cwd, env=env, **streams)  # pytest's limit ends it
        output.seek(0)
        return Ended(ended.returncode, output.read().decode("utf-8", errors="replace"), time.monotonic() - start)


def run_stage(program: ModuleType, words: Sequence[object]) -> None:
    """Run a program of the package in this process on the words of a command line."""
    from headroom.__main__ import job_of

    program.run(job_of(program).read([*map(str, words)], program.__name__))


def wait_until(happened: Callable[[], bool], what: str = "what was waited for", pause: float = 0.02) -> None:
    """Wait until something has happened.

    Raises:
        HangingError: It has not, in a time in which it would have on any machine.
    """
    latest = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > latest:
            raise HangingError(f"{what} did not come within {PATIENCE:g} s")
        time.sleep(pause)


ROOT = Path(__file__).parents[1]

MADE_ANYWHERE = shutil.ignore_patterns(
    ".git", ".venv", ".snakemake", ".*_cache", ".hypothesis", "*.egg-info", "*.pyc.*"
)
MADE_AT_TOP = {"results", "reports", "work", "logs"}

TINY = "tests/workflow/tiny.yaml"
RULE = re.compile(r"^(\w+) +(\d+)$", flags=re.M)


@dataclass(frozen=True)
class Project:
    """A directory with the project's files."""

    root: Path

    def run(self, *command: str) -> Ended:
        """Run a command of the environment in the project."""
        return run(command, cwd=self.root, env=environment())

    def snakemake(self, *arguments: str, study: str | None = TINY) -> Ended:
        """Run Snakemake on two cores: on the tiny study, another, or, with None, the project's own."""
        return self.run("snakemake", *arguments, "--cores", "2", *(["--configfile", study] if study else []))

    def stage(self, name: str, *arguments: str) -> Ended:
        """Run one stage by hand."""
        return self.run("env", "PYTHONPATH=workflow", "python", "-m", "headroom", name, *arguments)

    def configure(self, changes: Mapping[str, Any]) -> str:
        """Write the tiny study with some keys changed, and return the path of that configuration.

        Args:
            changes: Values by dotted key, e.g. `{"training.epochs": 3}`.
        """
        return self.write_study(yaml.safe_load((self.root / TINY).read_text()), changes)

    def write_study(self, study: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """Write a study with some keys changed, values by dotted key, and return the path of that configuration."""
        (self.root / "changed.yaml").write_text(yaml.safe_dump(with_keys(study, changes), sort_keys=False))
        return "changed.yaml"

    def copy(self, root: Path) -> "Project":
        """Return a copy of the whole directory, results and Snakemake's records of them included."""
        shutil.copytree(self.root, root, symlinks=True)
        return Project(root)


@dataclass(frozen=True)
class Finished:
    """The tiny study after its first run; read-only."""

    project: Project
    ended: Ended


def with_keys(study: Mapping[str, Any], changes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a copy of a study with some keys changed, values by dotted key."""
    changed = copy.deepcopy(dict(study))
    for key, value in changes.items():
        *sections, last = key.split(".") if isinstance(key, str) else [key]
        place = changed
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = copy.deepcopy(value)
    return changed


def environment() -> dict[str, str]:
    """Return this process's environment with the commands of the virtual environment first on PATH.

    Python may write what it has compiled: every job would compile the package again.
    """
    left_out = ("SNAKEMAKE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    return inherited | {"PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])}


def hear_interrupts() -> None:
    """Let SIGINT interrupt: what a shell runs in the background, these tests included, starts deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def new_project(root: Path) -> Project:
    """Return a copy of the project's own files as they are now, without git's, results and reports.

    Compiled modules are copied, as otherwise every copy would compile them again.
    """

    def left_out(directory: str, names: list[str]) -> set[str]:
        return MADE_ANYWHERE(directory, names) | (MADE_AT_TOP & {*names} if Path(directory) == ROOT else set())

    shutil.copytree(ROOT, root, symlinks=True, ignore=left_out)
    return Project(root)


def planned(dry_run: Ended) -> dict[str, int]:
    """Return the number of jobs of every rule in a dry run's output, without the target `all`."""
    assert dry_run.status == 0, dry_run.output
    if "Nothing to be done" in dry_run.output:
        return {}
    stats = dry_run.output.split("Job stats:")[1].partition("\n\n")[0]
    jobs = {rule: int(count) for rule, count in RULE.findall(stats)}
    assert sum(count for rule, count in jobs.items() if rule != "total") == jobs.pop("total")
    jobs.pop("all", None)
    return jobs


CLOCKED_TABLES = ("benchmarks", "timing", "timing_samples", "update_cost")
CLOCKED_MEASURES = {"seconds", "words_per_second", "examples_per_second"}
CLOCKED_CLAIMS = {"M10", "R6"}
CLOCKED_NUMBERS = {"slim_speedup", "speedup", "masked_speedup", "update_time"}
CLOCKED_STATISTICS = {"seconds"}
CLOCKED_COLUMNS = {"seconds"}


def differing(first: Path, second: Path) -> list[str]:
    """Return the tables that are not the same in two directories of results, or in one of them alone.

    Raises:
        AssertionError: If the first contains no table.
    """
    names = tables_of(first)
    assert names, f"no tables in {first}"
    unlike = [name for name in names & tables_of(second) if rows(first / name) != rows(second / name)]
    return sorted([*unlike, *(names ^ tables_of(second))])


def tables_of(results: Path) -> set[str]:
    """Return the tables of a study, without those of times."""
    paths = (path.relative_to(results) for path in results.rglob("*.csv"))
    return {str(path) for path in paths if path.parts[0].removesuffix(".csv") not in CLOCKED_TABLES}


def rows(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table, without rows and columns of times."""
    with open(table, encoding="utf-8", newline="") as stream:
        kept = [row for row in csv.DictReader(stream) if not is_clocked(row)]
    return [{name: value for name, value in row.items() if name not in CLOCKED_COLUMNS} for row in kept]


def is_clocked(row: Mapping[str, str]) -> bool:
    """Return whether a row is about times: a measure, a statistic, a claim, or a number of the answer."""
    about = {row.get("claim"), row.get("what")}
    return (
        row.get("measure") in CLOCKED_MEASURES
        or row.get("statistic") in CLOCKED_STATISTICS
        or bool(about & CLOCKED_CLAIMS)
        or row.get("name") in CLOCKED_NUMBERS
    )
