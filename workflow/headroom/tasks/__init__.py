"""Tasks: how models of one kind are loaded, judged and timed, behind one protocol for every experiment.

Each task is a package with the modules `loading`, `judging`, `timing` and `observing`; the modules of these names
here say what they offer. A stage imports those that it uses, of the task that `--task` names: so a job waits for one
engine only, and editing what classification needs, or a metric, reruns nothing that does without it.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

TASKS = ("translation", "classification")


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add `--task`."""
    parser.add_argument("--task", choices=TASKS, default=TASKS[0], help="what the model does; other flags depend on it")


def chosen_task(arguments: Sequence[str] | None) -> str:
    """Return the task that `--task` names; the rest of the command line depends on it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_task(parser)
    named, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    return str(named.task)


def module_of(task: str, part: str) -> ModuleType:
    """Import a part of a task."""
    return importlib.import_module(f"headroom.tasks.{task}.{part}")
