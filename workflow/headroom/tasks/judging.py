"""What a task offers to judge models."""

import argparse
from collections.abc import Callable
from typing import Any, Protocol, cast

from headroom.methods.judging import EvaluationSet, Outcome
from headroom.tasks import module_of


class Judging(Protocol):
    """Answers and scores. `given` is the parsed command line, with the flags that were added here."""

    def add_judging(self, parser: argparse.ArgumentParser, *, final: bool = False) -> None:
        """Add the flags that affect answers and scores; `final`: also those of final scores alone."""

    def load_set(self, given: argparse.Namespace, name: str, *, examples: int | None = None) -> EvaluationSet:
        """Read an evaluation set, or its first examples."""

    def final(self, given: argparse.Namespace, judged: Any, model: Any) -> tuple[Outcome, str, Callable[[str], str]]:
        """Return the final outcome, how answers were found, and the signature of a metric."""


def judging(task: str) -> Judging:
    """Return how a task judges."""
    return cast(Judging, module_of(task, "judging"))
