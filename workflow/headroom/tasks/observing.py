"""What a task offers to see where heads point."""

import argparse
from collections.abc import Sequence
from typing import Any, Protocol, cast

from torch import Tensor

from headroom.engines.head_model import HeadModel
from headroom.engines.maps import MapBatch
from headroom.tasks import module_of


class Observing(Protocol):
    """Attention maps of a task's models. `given` is the parsed command line, with the flags that `Loading` added."""

    def load(self, given: argparse.Namespace, *, fresh: int | None = None) -> HeadModel:
        """Load the model in eval mode, in a form that shows attention weights.

        Args:
            given: The command line.
            fresh: A seed for weights as they are before training, instead of those of the checkpoint.
        """

    def example_batches(self, model: Any, examples: Any, size: int) -> list[MapBatch]:
        """Return examples of a set in batches that show the maps of every site, teacher-forced where there is one."""

    def sentence_batches(self, model: Any, sentences: Sequence[str], size: int) -> list[MapBatch]:
        """Return single sentences in batches that show the maps of the encoder, with the places of their pieces.

        Raises:
            HeadroomError: If the pieces of a sentence cannot be found in it.
        """

    def frequencies(self, given: argparse.Namespace, model: Any) -> Tensor | None:
        """Return how often each piece of the encoder's vocabulary occurs in the training text, (V,), None without."""


def observing(task: str) -> Observing:
    """Return how a task's attention maps are seen."""
    return cast(Observing, module_of(task, "observing"))
