"""Batches for timing parts of a model, and the multiply-adds of their passes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Generic, TypeVar

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from headroom.core.errors import HeadroomError
from headroom.engines.head_model import HeadModel

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
        """The sizes that determine the time, e.g. the length of the batch in pieces."""

    @abstractmethod
    def action(self, model: Timed, part: str) -> Callable[[], object]:
        """Return the timed function."""

    @abstractmethod
    def multiply_adds(self, model: Timed, part: str) -> int:
        """Count the multiply-adds of a part as run."""

    def cache_bytes(self, model: Timed, part: str) -> int | None:  # noqa: ARG002
        """Return the size of the cache of keys and values once the batch is read; None without one."""
        return None


def count_multiply_adds(
    model: nn.Module, run: Callable[[], object], *, transposed: tuple[type[nn.Module], ...] = ()
) -> int:
    """Count the multiply-adds of a pass in linear layers and LSTMs, as run; biases do not count.

    `transposed` are classes of linear layers whose weights are stored as (inputs, outputs).
    """
    counted: list[int] = []

    def linear(module: nn.Module, inputs: tuple[Tensor, ...], _: object) -> None:
        outputs = module.get_parameter("weight").shape[1 if isinstance(module, transposed) else 0]
        counted.append(inputs[0].numel() * outputs)

    def recurrent(module: nn.LSTM, inputs: tuple[PackedSequence], _: object) -> None:
        weights = sum(weight.numel() for weight in module.parameters() if weight.dim() == 2)
        counted.append(len(inputs[0].data) * weights)  # packed, i.e. without padding

    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, (nn.Linear, *transposed)):
                hooks.callback(module.register_forward_hook(linear).remove)
            elif isinstance(module, nn.LSTM):
                hooks.callback(module.register_forward_hook(recurrent).remove)
        run()
    return sum(counted)


def middle(lengths: Sequence[int], size: int) -> list[int]:
    """Return the positions of the `size` examples of middle lengths; raise HeadroomError if there are fewer."""
    if len(lengths) < size:
        raise HeadroomError(
            f"timing.batch_sizes: {size} exceeds the {len(lengths)} examples of the set; give smaller sizes"
        )
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    start = (len(order) - size) // 2
    return order[start : start + size]
