"""What every experiment asks of a model, whichever engine it comes from."""

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headroom.ground.heads import Head, Site
from headroom.models.gates import Gates
from headroom.models.sites import AttentionSite


class HeadModel(Protocol):
    """A trained model in eval mode, its sites, and gates on them."""

    model: nn.Module
    gates: Gates
    live_sites: list[AttentionSite]

    @property
    def sites(self) -> list[Site]:
        """The names of the sites, in table order."""

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""

    def losses(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the summed negative log-likelihood (B,) in nats, and the number of targets (B,), of each example."""

    def logits(self, batch: Any) -> Tensor:
        """Return what the model says before the softmax: (B, T, V) teacher-forced, or (B, classes)."""

    def trainable(self, scope: str) -> list[nn.Parameter]:
        """Return the weights that are trained further: all, or for the scope `E` those of the encoder alone."""

    def remove(self, removed: frozenset[Head]) -> None:
        """Slice heads out for real, in place."""

    def save(self, path: Path | str) -> None:
        """Write the model with a descriptor of the heads removed, so that loading brings it back."""
