"""Batches for timing parts of a model, and the multiply-adds of their passes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headroom.core.errors import HeadroomError
from headroom.models.batch import Batch
from headroom.models.head_model import HeadModel

Timed = TypeVar("Timed", bound=HeadModel[Any])
"""The models that a workload times."""


class Workload(ABC, Generic[Timed]):
    """One batch, run through parts of a model.

    Attributes:
        parts: The parts of a model that are timed.
    """

    parts: tuple[str, ...]

    @property
    @abstractmethod
    def shape(self) -> dict[str, int]:
        """The sizes that determine the time, e.g. the length of the batch in tokens."""

    @abstractmethod
    def action(self, model: Timed, part: str) -> Callable[[], object]:
        """Return the timed function."""

    def multiply_adds(self, model: Timed, part: str) -> int:
        """Count the multiply-adds of a part as run: of matrix products, those of attention and LSTMs among them."""
        run = self.action(model, part)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # it knows no fused attention
            run()
        return int(counter.get_total_flops()) // 2

    def cache_bytes(self, model: Timed, part: str) -> int | None:  # noqa: ARG002
        """Return the size of the cache of keys and values once the batch is read; None without one."""
        return None


@dataclass(frozen=True)
class ForwardWorkload(Workload[Timed]):
    """One batch of an evaluation set, answered by the whole model in a pass."""

    batch: Batch
    parts = ("model",)

    @property
    def shape(self) -> dict[str, int]:
        """Length of the padded inputs in tokens."""
        return {"length": self.batch.length}

    def action(self, model: Timed, part: str) -> Callable[[], object]:  # noqa: ARG002
        """Return the timed function: a forward pass."""
        return lambda: model.logits(self.batch)


def middle(lengths: Sequence[int], size: int) -> list[int]:
    """Return the positions of the `size` examples of middle lengths; raise HeadroomError if there are fewer."""
    if len(lengths) < size:
        raise HeadroomError(
            f"timing.batch_sizes: {size} exceeds the {len(lengths)} examples of the set; give smaller sizes"
        )
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    start = (len(order) - size) // 2
    return order[start : start + size]
