"""The interface of trained models for all experiments and engines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.heads import Head, Site, format_profile
from headroom.core.interventions import Intervention
from headroom.engines.gates import Gates, Replacements
from headroom.engines.maps import MapObserver
from headroom.engines.removal import fold, remove_heads
from headroom.engines.reusable import PartlyRead, Reusable
from headroom.engines.sites import AttentionSite, site_names


class HeadModel(ABC):
    """A trained model in eval mode, its sites, and gates on them."""

    model: Any
    gates: Gates
    live_sites: list[AttentionSite]

    @property
    def sites(self) -> list[Site]:
        """The names of the sites, in table order."""
        return site_names(self.live_sites)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.model.parameters()).device

    @property
    def removed(self) -> str:
        """The profile of the sliced heads."""
        kept = {head for live in self.live_sites for head in live.kept_heads()}
        return format_profile({head for site in self.sites for head in site.head_names()} - kept)

    @abstractmethod
    def losses(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the summed negative log-likelihood (B,) in nats, and the number of targets (B,), of each example."""

    @abstractmethod
    def logits(self, batch: Any) -> Tensor:
        """Return the logits: (B, T, V) teacher-forced, or (B, classes)."""

    @abstractmethod
    def real(self, batch: Any) -> Mapping[str, tuple[Tensor, Tensor]]:
        """Return by kind of site which query (B, T) and which key positions (B, S) of a batch are not padding."""

    @abstractmethod
    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block to `observer`, once per site with heads.

        Raises:
            HeadroomError: In a pass, if the model was loaded without them.
        """

    @abstractmethod
    def trainable(self, scope: str) -> list[nn.Parameter]:
        """Return the weights for further training: all, or for the scope `E` only those of the encoder."""

    def parts(self, batch: Any, examples: int) -> list[Any]:  # noqa: ARG002
        """Return a batch in parts of similar length, of so many examples at most where that saves padding."""
        return [batch]

    def partly_read(self, batch: Any) -> PartlyRead | None:  # noqa: ARG002
        """Return the last layer if only its first position is read, as a batch shows; else None."""
        return None

    def remove(self, removed: frozenset[Head]) -> None:
        """Slice heads out, in place."""
        remove_heads(self.live_sites, removed)

    def realise(self, intervention: Intervention, replacements: Replacements | None = None) -> None:
        """Apply an intervention to the weights, in place: `fold` it, and slice the removed heads out."""
        fold(self.live_sites, intervention, replacements)
        self.remove(intervention.removed)

    @abstractmethod
    def save(self, path: Path | str) -> None:
        """Write the model with a descriptor of the removed heads, for loading."""


def take_rows(batch: Any, rows: Sequence[int]) -> Any:
    """Return some rows of an engine's batch, in this order and as often as they are named; padding is unchanged."""
    return replace(batch, **{field.name: _take_value(getattr(batch, field.name), rows) for field in fields(batch)})


def _take_value(value: Any, rows: Sequence[int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _take_value(one, rows) for name, one in value.items()}
    if isinstance(value, Tensor):
        return value[torch.as_tensor(rows, device=value.device)]
    return None if value is None else [value[row] for row in rows]


def trace_reusable(model: HeadModel, run: Callable[[Any], Tensor], batch: Any) -> Reusable:
    """Return what passes of a model in eval mode have in common, traced on the last examples of a batch, at most two.

    Args:
        model: The model.
        run: A pass, from a batch to a row per example.
        batch: A batch as it will be passed.
    """
    count = len(batch.positions)
    rows = list(range(count))[-2:]
    trial, twice = take_rows(batch, rows), take_rows(batch, rows * 2)
    return Reusable(model, run, trial, twice, model.partly_read(trial))


@contextmanager
def seed_torch(seed: int | None) -> Iterator[None]:
    """Draw torch's random numbers from a seed within a block and restore its state afterwards; None does nothing."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
