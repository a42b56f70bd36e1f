"""Copies of the project in which tests run the whole workflow, each on its own."""

import copy
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from commands import Ended, run
from warm import serve_jobs, substitute_snakemake

ROOT = Path(__file__).parents[1]

MADE_ANYWHERE = shutil.ignore_patterns(
    ".git", ".venv", ".snakemake", ".*_cache", ".hypothesis", "*.egg-info", "*.pyc.*"
)
MADE_AT_TOP = {"results", "reports", "work", "logs"}

TINY = "tests/workflow/tiny.yaml"
SENTENCES = "".join(f"sentence number {number} of some text\n" for number in range(40))
RULE = re.compile(r"^(\w+) +(\d+)$", flags=re.M)


@dataclass(frozen=True)
class Project:
    """A directory with the project's files."""

    root: Path

    def run(self, *command: str, warm: Sequence[str] = ()) -> Ended:
        """Run a command of the environment in the project; programs that are `warm` start with libraries imported."""
        return run(command, cwd=self.root, env=environment(*warm))

    def snakemake(self, *arguments: str, study: str | None = TINY, warm: bool = True) -> Ended:
        """Run Snakemake on two cores, on the tiny study unless another configuration is given.

        Args:
            arguments: Of the command line.
            study: The path of a configuration, None for the project's own.
            warm: Whether Snakemake and its jobs start with libraries imported.
        """
        chosen = ["--configfile", study] if study else []
        programs = ("snakemake",) if "-n" in arguments else ("snakemake", "python")
        return self.run("snakemake", *arguments, "--cores", "2", *chosen, warm=programs if warm else ())

    def stage(self, name: str, *arguments: str, warm: bool = False) -> Ended:
        """Run one stage by hand."""
        return self.run(
            "env", "PYTHONPATH=workflow", "python", "-m", "headroom", name, *arguments, warm=("python",) if warm else ()
        )

    def configure(self, changes: Mapping[str, Any]) -> str:
        """Write the tiny study with some keys changed, and return the path of that configuration.

        Args:
            changes: Values by dotted key, e.g. `{"training.epochs": 3}`.
        """
        return self.write_study(yaml.safe_load((self.root / TINY).read_text()), changes)

    def write_study(self, study: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """Write a study with some keys changed, values by dotted key, and return the path of that configuration."""
        changed = copy.deepcopy(dict(study))
        for key, value in changes.items():
            *sections, last = key.split(".")
            place = changed
            for section in sections:
                place = place.setdefault(section, {})
            place[last] = value
        (self.root / "changed.yaml").write_text(yaml.safe_dump(changed, sort_keys=False))
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


def own_text(project: Project, changes: Mapping[str, Any] | None = None, **files: str) -> str:
    """Write parallel text and a study of it; returns the study's path. Files are named like `train_source`."""
    (project.root / "text").mkdir()
    corpus: dict[str, Any] = {"source": "files"}
    for name in ("train", "valid", "test"):
        corpus[name] = {side: f"text/{name}.{side}" for side in ("source", "target")}
        for side in ("source", "target"):
            (project.root / corpus[name][side]).write_text(files.get(f"{name}_{side}", SENTENCES))
    return project.configure({"translation.corpus": corpus, "study": "own", **(changes or {})})


def environment(*warm: str) -> dict[str, str]:
    """Return this process's environment with the commands of the virtual environment first on PATH.

    Python may write what it has compiled: every job would compile the package again.

    Args:
        warm: Programs, `snakemake` or `python`, that start with libraries imported.
    """
    left_out = ("SNAKEMAKE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    places = [*([substitute_snakemake()] if "snakemake" in warm else []), Path(sys.prefix) / "bin", os.environ["PATH"]]
    return inherited | (serve_jobs() if "python" in warm else {}) | {"PATH": os.pathsep.join(map(str, places))}


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
