"""What every experiment asks of a model, whichever engine it comes from, and where it is computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.engines.gates import Gates
from headroom.engines.sites import AttentionSite


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


def pick_device(device: str) -> torch.device:
    """Return the device that `auto`, `cpu` or `cuda` stands for.

    Raises:
        HeadroomError: If CUDA is asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise HeadroomError("device: cuda was asked for, but torch sees no CUDA device; use auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Draw torch's random numbers from a seed within a block, and go on afterwards as if nothing had been drawn.

    Args:
        seed: The seed; None changes nothing.
    """
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
