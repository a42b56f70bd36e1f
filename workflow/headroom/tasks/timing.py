"""What a task offers to time models."""

from collections.abc import Callable
from typing import Any, Protocol, cast

from headroom.tasks import module_of


class Workload(Protocol):
    """One batch, run through parts of a model."""

    @property
    def shape(self) -> dict[str, int]:
        """What the time depends on, e.g. the length of the batch in pieces."""

    def action(self, model: Any, part: str) -> Callable[[], Any]:
        """Return what is timed."""

    def multiply_adds(self, model: Any, part: str) -> int:
        """Count the multiply-adds of a part as run."""


class Timing(Protocol):
    """Batches to be timed, and the parts of a model that are."""

    PARTS: tuple[str, ...]

    def workload(self, model: Any, examples: Any, size: int) -> Workload:
        """Return a batch of the set's middle lengths."""


def timing(task: str) -> Timing:
    """Return how a task is timed."""
    return cast(Timing, module_of(task, "timing"))
