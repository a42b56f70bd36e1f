"""Gates that are learned, or fixed, while a model goes on training: one value per head in scope."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from headroom.ground.heads import Head, Site
from headroom.methods import hard_concrete, subset_selection

DECIDED = 0.95
"""A gate is decided if it is zero, or one, with at least this probability."""

COOLING = 0.4
"""Share of the updates in which exact selection draws noise and cools down, while the weights stay as they are; then
its K largest stay and the weights are trained: the "pipelined" form of Li et al. (2021). Random subsets of heads
would undo in a few hundred updates what the weights had learned."""

_OPEN = 2.5  # log alpha at the start: open with a probability of 0.96, so that training starts at the trained model


class GateSource(Protocol):
    """Where the gates of a training batch come from. All tensors have one value per head in scope, (N,).

    Attributes:
        alone: Share of the updates, from the first, in which gates are learned while the weights stay as they are.
    """

    alone: float

    def parameters(self) -> list[Tensor]:
        """Return what the optimizer moves; none for fixed gates."""

    def draw(self, progress: float) -> Tensor:
        """Return the gates of a batch; `progress` is the share of the updates done."""

    def penalty(self) -> Tensor:
        """Return what is added to the loss, a scalar."""

    def kept(self) -> Tensor:
        """Return the final gates, 0 or 1."""


class FixedGates:
    """Heads that stay as they are: kept or removed from the start."""

    alone = 0.0

    def __init__(self, gates: Tensor) -> None:
        self._gates = gates

    def parameters(self) -> list[Tensor]:
        """Return nothing."""
        return []

    def draw(self, progress: float) -> Tensor:  # noqa: ARG002
        """Return the gates given."""
        return self._gates

    def penalty(self) -> Tensor:
        """Return zero."""
        return torch.zeros(())

    def kept(self) -> Tensor:
        """Return the gates given."""
        return self._gates


class HardConcreteGates:
    """Hard-concrete gates under an L0 penalty (Voita et al. 2019); resampled for every batch."""

    alone = 0.0

    def __init__(self, *, heads: int, strength: float, seed: int) -> None:
        """Start with all gates almost surely open.

        Args:
            heads: Gates, N.
            strength: Lambda: nats per expected open gate that are added to the mean loss of a target.
            seed: Of the noise.

        Raises:
            ValueError: If the strength is not above zero.
        """
        if strength <= 0:
            raise ValueError(f"the penalty lambda must be above 0, found {strength}")
        self.log_alpha = torch.full((heads,), _OPEN, requires_grad=True)
        self._strength = strength
        self._noise = torch.Generator().manual_seed(seed)

    def parameters(self) -> list[Tensor]:
        """Return log alpha."""
        return [self.log_alpha]

    def draw(self, progress: float) -> Tensor:  # noqa: ARG002
        """Return a new sample."""
        return hard_concrete.sample(self.log_alpha, torch.rand(len(self.log_alpha), generator=self._noise))

    def penalty(self) -> Tensor:
        """Return lambda times the expected number of open gates."""
        return self._strength * hard_concrete.expected_open(self.log_alpha)

    def settled(self) -> Tensor:
        """Return the gates of evaluation before they are made hard."""
        return hard_concrete.settled(self.log_alpha.detach())

    def kept(self) -> Tensor:
        """Return 0 or 1, whichever of P(g = 0) and P(g = 1) is larger; 0 if they are equal."""
        return (self.opened() > self.closed()).float()

    def closed(self) -> Tensor:
        """Return P(g = 0) of every gate."""
        return hard_concrete.closed(self.log_alpha.detach())

    def opened(self) -> Tensor:
        """Return P(g = 1) of every gate."""
        return hard_concrete.opened(self.log_alpha.detach())

    def undecided(self) -> int:
        """Return the number of gates that are neither zero nor one with a probability of `DECIDED`."""
        return int((torch.maximum(self.closed(), self.opened()) < DECIDED).sum())


class ExactGates:
    """Exactly K gates open, chosen by differentiable subset pruning (Li, Cotterell and Sachan 2021)."""

    alone = COOLING

    def __init__(self, *, heads: int, k: int, straight_through: bool, seed: int) -> None:
        """Start with equal scores.

        Args:
            heads: Gates, N.
            k: How many stay open.
            straight_through: Hard gates forward and the soft gradient backward, instead of soft gates.
            seed: Of the noise.

        Raises:
            ValueError: If K is not between 0 and N.
        """
        if not 0 <= k <= heads:
            raise ValueError(f"cannot keep {k} of {heads} heads")
        self.scores = torch.zeros(heads, requires_grad=True)
        self._k = k
        self._choose = subset_selection.straight_through if straight_through else subset_selection.soft_top_k
        self._noise = torch.Generator().manual_seed(seed)

    def parameters(self) -> list[Tensor]:
        """Return the scores w."""
        return [self.scores]

    def draw(self, progress: float) -> Tensor:
        """Return gates for perturbed scores while cooling down, then the K largest."""
        if progress >= COOLING:
            return self.kept()
        noise = subset_selection.gumbel(torch.rand(len(self.scores), generator=self._noise))
        return self._choose(self.scores + noise, self._k, subset_selection.temperature(progress / COOLING))

    def penalty(self) -> Tensor:
        """Return zero: K is exact without one."""
        return torch.zeros(())

    def kept(self) -> Tensor:
        """Return one at the K largest scores."""
        return subset_selection.top_k(self.scores.detach(), self._k)


def by_site(values: Tensor, heads: Sequence[Head], sites: Sequence[Site]) -> dict[Site, Tensor]:
    """Return gates (N,) of heads in table order as a gate (H,) per site that has one of them."""
    places = {head: index for index, head in enumerate(heads)}
    return {
        site: values[[places[head] for head in site.head_names()]]
        for site in sites
        if any(head in places for head in site.head_names())
    }


def fixed(removed: frozenset[Head], heads: Sequence[Head]) -> FixedGates:
    """Return gates that remove a profile."""
    return FixedGates(torch.tensor([float(head not in removed) for head in heads]))


def profile_of(kept: Tensor, heads: Sequence[Head]) -> frozenset[Head]:
    """Return the heads whose gate (N,) is zero."""
    return frozenset(head for head, gate in zip(heads, kept.tolist()) if not gate)
