"""Tasks: how models of one kind are loaded, judged and timed, behind one protocol for every experiment.

Each task is a module of this package. A stage imports the one that `--task` names and no other: so a job
waits for one engine only, and editing what classification needs reruns nothing of translation.
"""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence, Sized
from typing import Any, Protocol, cast

from headroom.methods.judging import EvaluationSet, Outcome
from headroom.models.adapter import HeadModel

TASKS = ("translation", "classification")


class Workload(Protocol):
    """One batch, run through parts of a model."""

    @property
    def shape(self) -> dict[str, int]:
        """What the time depends on, e.g. the length of the batch in pieces."""

    def action(self, model: Any, part: str) -> Callable[[], Any]:
        """Return what is timed."""

    def multiply_adds(self, model: Any, part: str) -> int:
        """Count the multiply-adds of a part as run."""


class Task(Protocol):
    """What a task's module offers. `given` is the parsed command line, with the flags that the module added."""

    PARTS: tuple[str, ...]
    LOSS: str

    def add_model(self, parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that say which trained model to look at, on which data and where to compute."""

    def add_judging(self, parser: argparse.ArgumentParser, *, final: bool = False) -> None:
        """Add the flags that affect answers and scores; `final`: also those of final scores alone."""

    def load_model(self, given: argparse.Namespace, checkpoint: str) -> HeadModel:
        """Load a model in eval mode."""

    def load_set(self, given: argparse.Namespace, name: str, *, examples: int | None = None) -> EvaluationSet:
        """Read an evaluation set, or its first examples."""

    def read_examples(self, given: argparse.Namespace, name: str, examples: int | None = None) -> Sized:
        """Read the examples of a set, or the first of them, for stages that do not judge."""

    def batches(self, model: Any, examples: Any, size: int) -> list[Any]:
        """Return examples in batches of similar length."""

    def final(self, given: argparse.Namespace, judged: Any, model: Any) -> tuple[Outcome, str, Callable[[str], str]]:
        """Return the final outcome, how answers were found, and the signature of a metric."""

    def workload(self, model: Any, examples: Any, size: int) -> Workload:
        """Return a batch of the set's middle lengths, to be timed."""


def chosen_task(arguments: Sequence[str] | None) -> Task:
    """Return the task that `--task` names; the rest of the command line depends on it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_task(parser)
    named, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    return task_named(named.task)


def task_named(name: str) -> Task:
    """Return the module of a task."""
    return cast(Task, importlib.import_module(f"headroom.tasks.{name}"))


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add `--task`."""
    parser.add_argument("--task", choices=TASKS, default=TASKS[0], help="what the model does; other flags depend on it")
