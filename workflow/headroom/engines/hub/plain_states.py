"""States of the plain model, reused under interventions: only what follows the first changed site is computed.

The outputs of modules before that site are stored the first time they are computed (`headroom.engines.reusable`).
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from headroom.engines.batch import Given
from headroom.engines.head_model import HeadModel
from headroom.engines.reusable import STORED, trace_reusable

Result = TypeVar("Result")


class PlainStates(Generic[Given]):
    """The states of a model in eval mode on the batches of a set.

    Only the first batches are stored, as many as fit into the limit, and none of a model whose states cannot be reused.
    """

    def __init__(self, model: HeadModel[Given], batches: Sequence[Given], *, limit: int = STORED) -> None:
        """Trace the model on two examples; at most `limit` bytes are stored."""
        self._model = model
        self._batches = batches
        self._weights = _weights(model)
        longest = model.shorten(batches[-1])
        self._reusable = trace_reusable(model, model.logits, longest)
        size = self._reusable.size / min(2, len(longest.positions)) / longest.length
        positions = torch.tensor([len(batch.positions) * batch.length for batch in batches]).cumsum(0)
        self._stored: list[dict[nn.Module, object]] = [{} for _ in range(int((positions * size <= limit).sum()))]

    def belong_to(self, model: HeadModel[Given]) -> bool:
        """Return whether this is the model that they are of, with the same modules and weights."""
        now = _weights(model) if model is self._model else []
        return len(now) == len(self._weights) and all(
            one is other and version == before for (one, version), (other, before) in zip(now, self._weights)
        )

    def run(self, number: int, action: Callable[[Given], Result]) -> Result:
        """Return the result of an action, which runs the model under its present gates on the batch that it is given.

        Batches count from 0.
        """
        changed = self._model.gates.changed
        first = next((site for site in self._reusable.modules if site in changed), None)
        if first is None:
            return action(self._batches[number])
        in_store = number < len(self._stored)
        with self._reusable.reused(first if in_store else None, self._stored[number] if in_store else {}):
            return action(self._batches[number])


def _weights(model: HeadModel[Given]) -> list[tuple[Tensor, float]]:
    """Return parameters and buffers, each with the number of changes made to it in place.

    The number is NaN, which equals no other, for tensors that were created in inference mode: it is not counted there.
    """
    tensors = chain(model.model.parameters(), model.model.buffers())
    return [(tensor, math.nan if tensor.is_inference() else tensor._version) for tensor in tensors]
