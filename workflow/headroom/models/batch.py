"""Batches of examples of any kind of model; without torch, so that command lines may import it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Batch(ABC):
    """Examples padded to one length.

    Attributes:
        positions: Indices into the evaluation set, in the order of the rows.
    """

    positions: list[int]

    @property
    @abstractmethod
    def tokens(self) -> Tensor:
        """What the first layer reads, as indices of the vocabulary, (B, T)."""

    @property
    def length(self) -> int:
        """The largest number of positions of an example in any layer."""
        return self.tokens.shape[1]


Given = TypeVar("Given", bound=Batch, default=Any)
"""The batches of the models of an engine."""
