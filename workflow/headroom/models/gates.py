"""Gates on z: the one intervention point of all masking, scoring and learning."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, check_heads
from headroom.core.interventions import Intervention
from headroom.models.sites import AttentionSite, site_names

Observer = Callable[[Site, Tensor], None]
"""Called with a site and its gated z, shape (T, B, H, d)."""

StandIn = Callable[[Tensor], Tensor]
"""From the z of a site, before its gate, to the term added after it; shapes as z."""


@dataclass(frozen=True, eq=False)
class Addition:
    """The term that a repair adds to the gated z of a site: matrix @ z + constant, with the z before the gate.

    Attributes:
        matrix: (K * d, K * d) over the remaining heads, with columns of zeros for the removed ones, in float64.
        constant: (K * d,), in float64.
    """

    matrix: Tensor
    constant: Tensor


RepairOf = Callable[[AttentionSite, Intervention], Addition]
"""From a site and an intervention, which removes some of its heads, to the repair of the site."""


@dataclass(frozen=True, eq=False)
class Replacements:
    """Values for the replacements `mean` and `resample`, and for repairs; `methods.repair` measures them.

    Attributes:
        means: By site, the mean z of each head that the site was trained with, (H, d), on the CPU in float64.
        seed: The seed of the permutations of examples.
        repair: Computes repairs; None without measurements for them.
    """

    means: Mapping[Site, Tensor]
    seed: int = 0
    repair: RepairOf | None = None

    def means_of(self, live: AttentionSite) -> Tensor:
        """Return the mean z of a site's remaining heads, (K, d); raise HeadroomError if of another model."""
        if live.site not in self.means or self.means[live.site].shape[-1] != live.head_width:
            raise HeadroomError(f"site {live.site}: no mean z; measure the means on this model")
        return self.means[live.site][[index - 1 for index in live.kept]]

    def addition(self, live: AttentionSite, intervention: Intervention) -> Addition:
        """Return the repair of a site; raise HeadroomError without measurements for it."""
        if self.repair is None:
            raise HeadroomError(f"intervention '{intervention}': its repair is unknown; measure z first")
        return self.repair(live, intervention)

    def other_examples(self, examples: int) -> Tensor:
        """Return for each row of a batch another row, (B,), each taken once; a single row replaces itself."""
        order = torch.randperm(examples, generator=torch.Generator().manual_seed(self.seed))
        others = torch.empty_like(order)
        others[order] = order.roll(1)  # one cycle through all rows
        return others


def require_replacements(replacements: Replacements | None, intervention: Intervention) -> Replacements:
    """Return the replacements that an intervention needs; raise HeadroomError without."""
    if replacements is None:
        raise HeadroomError(
            f"intervention '{intervention}': the replacements of its heads are unknown; measure them first"
        )
    return replacements


class Gates:
    """Forward pre-hooks on the output projections, which multiply z by a gate per head and add a replacement.

    A gate of shape (H,) applies to a whole batch, one of shape (B, H) has a row per example, so that one
    batch can carry several masks and one backward pass gives exact gradients per example. Without a
    gate a site is identical to the plain model, bit for bit.
    """

    def __init__(self, *, sites: Sequence[AttentionSite]) -> None:
        """Install the hooks; z comes as (B, T, H * d)."""
        self._sites = sites
        self._values: dict[Site, Tensor] = {}
        self._replacements: dict[Site, StandIn] = {}
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
        self._replacements = {}

    @property
    def by_example(self) -> bool:
        """Whether the examples of a batch have gates of their own, or heads replaced by those of other examples."""
        return bool(self._replacements) or any(value.dim() == 2 for value in self._values.values())

    def apply(self, intervention: Intervention, replacements: Replacements | None = None) -> None:
        """Set the gates of an intervention for every example, at sites with one of its heads.

        The z of a site becomes z * scale + replacement, or z * scale + repair.

        Raises:
            HeadroomError: If the model has no such head, or its replacement or repair is unknown.
        """
        check_heads(intervention.heads, site_names(self._sites))
        self.clear()
        substituted = intervention.replacement != "zero" or intervention.repair != "none"
        for live in self._sites:
            gate = [intervention.gate(head) for head in live.site.head_names()]
            if live.kept and any(value != 1 for value in gate):
                weight = next(live.output.parameters())
                self._values[live.site] = torch.tensor(gate, dtype=weight.dtype, device=weight.device)
                if substituted and intervention.removed.intersection(live.kept_heads()):
                    self._replacements[live.site] = self._replacement(live, intervention, replacements)

    def mask(self, removed: Collection[Head]) -> None:
        """Apply the plainest intervention, which removes these heads."""
        self.apply(Intervention(frozenset(removed)))

    @property
    def changed(self) -> frozenset[Site]:
        """The sites with a gate."""
        return frozenset(self._values)

    def clear(self) -> None:
        """Return to the plain model."""
        self._values = {}
        self._replacements = {}

    @contextmanager
    def applied(self, intervention: Intervention, replacements: Replacements | None = None) -> Iterator[None]:
        """Apply an intervention within a block."""
        self.apply(intervention, replacements)
        try:
            yield
        finally:
            self.clear()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Return to the plain model within a block."""
        kept = self._values, self._replacements
        self.clear()
        try:
            yield
        finally:
            self._values, self._replacements = kept

    @contextmanager
    def masked(self, removed: Collection[Head]) -> Iterator[None]:
        """Remove heads within a block."""
        with self.applied(Intervention(frozenset(removed))):
            yield

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
            z = inputs[0].unflatten(-1, (len(live.kept), -1))  # (B, T, H, d)
            if gate is not None:
                stand_in = self._replacements.get(live.site)
                gated = z * self._shaped(gate, live)
                z = gated if stand_in is None else gated + stand_in(z)
            if self._observers:  # observers get the tensor that is passed on, so that gradients reach it
                shown = z.transpose(0, 1)  # (T, B, H, d)
                for observer in self._observers:
                    observer(live.site, shown)
                z = shown.transpose(0, 1)
            return (z.flatten(-2),)

        return multiply

    def _replacement(
        self, live: AttentionSite, intervention: Intervention, replacements: Replacements | None
    ) -> StandIn:
        weight = next(live.output.parameters())
        gone = torch.tensor([head in intervention.removed for head in live.kept_heads()], device=weight.device)
        if intervention.replacement == "first":
            return lambda z: z.narrow(1, 0, 1) * gone[:, None]
        given = require_replacements(replacements, intervention)
        if intervention.repair != "none":
            return _compute_added(given.addition(live, intervention), weight)
        if intervention.replacement == "mean":
            means = given.means_of(live).to(weight) * gone[:, None]  # (K, d)
            return lambda _: means

        def other_example(z: Tensor) -> Tensor:
            order = given.other_examples(len(z)).to(z.device)
            return z.index_select(0, order) * gone[:, None]

        return other_example

    def _shaped(self, gate: Tensor, live: AttentionSite) -> Tensor:
        """Return a gate as (H, 1) or, with a row per example, as (B, 1, H, 1)."""
        if len(live.kept) < live.site.heads:
            gate = gate[..., [index - 1 for index in live.kept]]
        if gate.dim() == 2:
            gate = gate.unsqueeze(1)
        return gate.unsqueeze(-1)


def _compute_added(addition: Addition, weight: Tensor) -> StandIn:
    """Return the term that a repair adds to z, in the type and on the device of a weight."""
    matrix, constant = addition.matrix.to(weight), addition.constant.to(weight)
    return lambda z: torch.nn.functional.linear(z.flatten(-2), matrix, constant).view_as(z)
