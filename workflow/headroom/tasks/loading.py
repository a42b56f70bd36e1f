"""What a task offers to load models and examples."""

import argparse
from collections.abc import Sized
from typing import Any, Protocol, cast

from headroom.engines.head_model import HeadModel
from headroom.tasks import module_of


class Loading(Protocol):
    """Models and examples. `given` is the parsed command line, with the flags that were added here."""

    LOSS: str

    def add_model(self, parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that say which trained model to look at, on which data and where to compute."""

    def load_model(self, given: argparse.Namespace, checkpoint: str) -> HeadModel:
        """Load a model in eval mode."""

    def read_examples(self, given: argparse.Namespace, name: str, examples: int | None = None) -> Sized:
        """Read the examples of a set, or the first of them."""

    def batches(self, model: Any, examples: Any, size: int) -> list[Any]:
        """Return examples in batches of similar length."""


def loading(task: str) -> Loading:
    """Return how a task loads."""
    return cast(Loading, module_of(task, "loading"))
