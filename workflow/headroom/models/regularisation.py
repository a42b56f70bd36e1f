"""What an arm does to a forward pass in training, as the engines know it."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from torch import Tensor

RealPositions = Mapping[str, tuple[Tensor, Tensor]]
"""By kind of site, which query (B, T) and which key positions (B, S) of a batch are not padding."""


class Regulariser(Protocol):
    """Acts on the heads of a model while it computes the loss of a batch in training."""

    def __call__(
        self, forward: Callable[[], Any], real: RealPositions, *, update: int, batch: int, part: int = 0
    ) -> tuple[Any, Any]:
        """Run the forward pass of one batch.

        Args:
            forward: Runs it.
            real: Which positions of the batch count.
            update: Number of updates before this one.
            batch: Number of batches of this update before this one.
            part: Which part of the batch this is, where several processes share it.

        Returns:
            What `forward` returned, and the term to add to the mean loss per target: a tensor (), or 0.0.
        """
