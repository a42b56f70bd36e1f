"""The arms that act on the forward pass: penalties on similar heads, and randomly dropped heads.

Terms are computed at the sites during the forward pass: values and attention weights at their projections, outputs at
z, where heads are also dropped. The model has no additional modules.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.gates import Gates
from headroom.engines.maps import MapObserver, Positions, shown_values
from headroom.engines.processes import own_seed
from headroom.engines.repulsion.similarity import cosines_at, kernels_at, map_products
from headroom.engines.sites import AttentionSite
from headroom.engines.training import Regulariser, Result
from headroom.settings.arms import (
    DisagreementPositionArm,
    DisagreementSubspaceArm,
    DropHeadArm,
    ForwardArm,
    HeadMaskArm,
    PenaltyArm,
    RepulsionLossArm,
)

Maps = Callable[[Sequence[AttentionSite], MapObserver], AbstractContextManager[None]]
"""The engine's function that shows attention weights within a block."""


def regulariser(
    arm: ForwardArm, sites: Sequence[AttentionSite], maps: Maps, *, seed: int, batch_first: bool
) -> Regulariser:
    """Return the regulariser of an arm for a model with these sites, with hooks on those that it acts on.

    `batch_first`: whether the engine has (B, T, ...) rather than (T, B, ...).

    Raises:
        HeadroomError: If the arm has no sites: penalties need at least two heads.
    """
    least = 2 if isinstance(arm, PenaltyArm) else 1
    chosen = [live for live in sites if live.site.is_among(arm.sites) and len(live.kept) >= least]
    if not chosen:
        raise HeadroomError(
            f"{arm.method}: no site of {', '.join(arm.sites)} has {least} heads or more; choose other sites"
        )
    without = [live.site for live in chosen if not live.has_values]
    if isinstance(arm, DisagreementSubspaceArm) and without:
        raise HeadroomError(f"{arm.method}: the heads of {without[0]} share their values; use another method")
    for live in chosen:
        if isinstance(arm, HeadMaskArm) and arm.masked >= len(live.kept):
            raise HeadroomError(
                f"headmask: masks {arm.masked} of the {len(live.kept)} heads of {live.site}; mask fewer"
            )
    gates = Gates(sites=chosen, batch_first=batch_first)
    if isinstance(arm, PenaltyArm):
        return Penalty(arm, chosen, gates, maps, batch_first)
    return HeadDropping(arm, chosen, gates, seed)


@dataclass(frozen=True)
class Penalty:
    """The mean over sites of the similarity of their heads, times a weight."""

    arm: PenaltyArm
    sites: Sequence[AttentionSite]
    gates: Gates
    maps: Maps
    batch_first: bool

    def __call__(self, forward: Callable[[], Result], real: Positions, **_: int) -> tuple[Result, Tensor]:
        """Run the forward pass and return the term with it; see `Regulariser`."""
        terms: list[Tensor] = []
        with self._watching(real, terms):
            result = forward()
        return result, self.arm.weight * torch.stack(terms).mean()

    def _watching(self, real: Positions, terms: list[Tensor]) -> AbstractContextManager[None]:
        """Collect the term of every site within a block: a mean over real positions."""
        if isinstance(self.arm, DisagreementPositionArm):

            def see_maps(site: Site, maps: Tensor) -> None:
                terms.append(map_products(maps, *real[site.kind]).mean())

            return self.maps(self.sites, see_maps)
        if isinstance(self.arm, DisagreementSubspaceArm):

            def see_values(site: Site, values: Tensor) -> None:
                terms.append(cosines_at(values, real[site.kind][1]).mean())

            return shown_values(self.sites, see_values, batch_first=self.batch_first)
        measure = kernels_at if isinstance(self.arm, RepulsionLossArm) else cosines_at

        def see_outputs(site: Site, z: Tensor) -> None:
            terms.append(measure(z, real[site.kind][0]).mean())

        return self.gates.observed(see_outputs)


@dataclass(frozen=True)
class HeadDropping:
    """HeadMask and DropHead: gates on z that are drawn for every batch, from their own generator.

    HeadMask's gates are shared by all parts of a batch; DropHead's are drawn for each example.
    """

    arm: HeadMaskArm | DropHeadArm
    sites: Sequence[AttentionSite]
    gates: Gates
    seed: int

    def __call__(
        self, forward: Callable[[], Result], real: Positions, *, update: int, batch: int, part: int = 0
    ) -> tuple[Result, float]:
        """Run the forward pass without some heads; see `Regulariser`."""
        seed = (self.seed * 1_000_003 + update) * 1_009 + batch
        generator = torch.Generator().manual_seed(own_seed(seed, part if isinstance(self.arm, DropHeadArm) else 0))
        gates = {}
        for live in self.sites:
            examples = len(real[live.site.kind][0])
            if isinstance(self.arm, HeadMaskArm):
                drawn = mask_heads(live.site.heads, self.arm.masked, generator)
            else:
                drawn = drop_heads(examples, live.site.heads, self.arm.rate, generator)
            gates[live.site] = drawn.to(real[live.site.kind][0].device)
        self.gates.set(gates)
        try:
            return forward(), 0.0
        finally:
            self.gates.clear()


def mask_heads(heads: int, masked: int, generator: torch.Generator) -> Tensor:
    """Return a gate (heads,) that is 0 for `masked` random heads, 1 for the others (Sun et al. 2020)."""
    gate = torch.ones(heads)
    gate[torch.randperm(heads, generator=generator)[:masked]] = 0
    return gate


def drop_heads(examples: int, heads: int, rate: float, generator: torch.Generator) -> Tensor:
    """Return gates (examples, heads) for DropHead (Zhou et al. 2020, section 3.1).

    Each gate is 0 with probability `rate`; the others are scaled so that the gates of an example sum to the number of
    heads. An example that would lose all its heads keeps them.
    """
    kept = (torch.rand(examples, heads, generator=generator) >= rate).float()
    kept[kept.sum(1) == 0] = 1
    return kept * heads / kept.sum(1, keepdim=True)
