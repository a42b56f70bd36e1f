"""Gates on z: the one intervention point of all masking, scoring and learning."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headroom.core.heads import Head, Site, check_heads
from headroom.engines.sites import AttentionSite, site_names

Observer = Callable[[Site, Tensor], None]
"""Called with a site and its gated z, shape (T, B, H, d)."""


class Gates:
    """Forward pre-hooks on the output projections, which multiply z by a gate per head.

    A gate of shape (H,) serves a whole batch, one of shape (B, H) has a row per example, so that one
    batch can carry several masks and one backward pass gives exact gradients per example. Without a
    gate a site is the plain model, to the bit.
    """

    def __init__(self, *, sites: Sequence[AttentionSite], batch_first: bool) -> None:
        """Install the hooks.

        Args:
            sites: The live sites.
            batch_first: Whether z comes as (B, T, H * d) rather than (T, B, H * d).
        """
        self._sites = sites
        self._batch_first = batch_first
        self._values: dict[Site, Tensor] = {}
        self._observers: list[Observer] = []
        for live in sites:
            if live.kept:
                live.output.register_forward_pre_hook(self._hook(live))

    def set(self, values: Mapping[Site, Tensor]) -> None:
        """Set gates, by site, of shape (H,) or (B, H) with H the heads the site was trained with."""
        for site, value in values.items():
            if value.shape[-1] != site.heads:
                raise ValueError(f"gate of {site}: {value.shape[-1]} heads instead of {site.heads}")
        self._values = dict(values)

    def mask(self, removed: Collection[Head]) -> None:
        """Set 0/1 gates that remove these heads for every example; sites without one stay untouched.

        Raises:
            HeadroomError: If the model has no such head.
        """
        check_heads(removed, site_names(self._sites))
        self._values = {}
        for live in self._sites:
            kept = [head not in removed for head in live.site.head_names()]
            if live.kept and not all(kept):
                weight = next(live.output.parameters())
                self._values[live.site] = torch.tensor(kept, dtype=weight.dtype, device=weight.device)

    def clear(self) -> None:
        """Return to the plain model."""
        self._values = {}

    @contextmanager
    def masked(self, removed: Collection[Head]) -> Iterator[None]:
        """Remove heads within a block."""
        self.mask(removed)
        try:
            yield
        finally:
            self.clear()

    @contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Show every site's gated z, shape (T, B, H, d), to `observer` within a block."""
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def _hook(self, live: AttentionSite) -> Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor] | None]:
        def multiply(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor] | None:
            gate = self._values.get(live.site)
            if not live.kept or (gate is None and not self._observers):
                return None
            z = inputs[0].unflatten(-1, (len(live.kept), -1))  # (T, B, H, d) or (B, T, H, d)
            if gate is not None:
                z = z * self._shaped(gate, live)
            if self._observers:  # z goes on through what they were shown, so that gradients reach it
                shown = z.transpose(0, 1) if self._batch_first else z  # (T, B, H, d)
                for observer in self._observers:
                    observer(live.site, shown)
                z = shown.transpose(0, 1) if self._batch_first else shown
            return (z.flatten(-2),)

        return multiply

    def _shaped(self, gate: Tensor, live: AttentionSite) -> Tensor:
        """Return a gate as (H, 1) or, with a row per example, as (1, B, H, 1) or (B, 1, H, 1)."""
        if len(live.kept) < live.site.heads:
            gate = gate[..., [index - 1 for index in live.kept]]
        if gate.dim() == 2:
            gate = gate.unsqueeze(1 if self._batch_first else 0)
        return gate.unsqueeze(-1)
