"""Learned gates: what is learned, how, and what it is compared with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.methods import hard_concrete, subset_selection
from headroom.methods.orders import least_important_first, random_order, removed_first
from headroom.settings.experiments import GateSettings

COOLING = 0.4
"""Share of the updates in which exact selection draws noise and cools down, while the weights stay as they are; then
its K largest stay and the weights are trained: the "pipelined" form of Li et al. (2021). Random subsets of heads
would undo in a few hundred updates what the weights had learned."""

METHODS = ("hard-concrete", "exact", "exact-straight-through")
"""Ways to learn which heads stay."""


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


@dataclass(frozen=True)
class FurtherTraining:
    """One further training.

    Attributes:
        method: How its gates come about.
        setting: Lambda, or the number of heads kept.
        draw: Which random layout, from 1; 0 for none.
        source: Its gates.
        name: Directory of its model: the configured lambda or share.
    """

    method: str
    setting: float
    draw: int
    source: GateSource
    name: str


def kept_counts(settings: GateSettings, heads: int) -> list[tuple[str, int]]:
    """Return the numbers of heads to keep, each with a name: those of the shares, then those named as numbers.

    Raises:
        HeadroomError: If a number is larger than the number of heads in scope.
    """
    if wrong := [count for count in settings.kept_heads if count > heads]:
        raise HeadroomError(f"--kept-heads {wrong[0]}: there are {heads} heads in scope; keep at most so many")
    shares = [(f"{share:g}", round(share * heads)) for share in settings.kept_shares]
    return [*shares, *((f"{count}-heads", count) for count in settings.kept_heads)]


def learned(method: str, settings: GateSettings, heads: int, seed: int) -> Iterator[FurtherTraining]:
    """Yield the further trainings of one of `METHODS`, for a number of heads in scope."""
    if method == "hard-concrete":
        for strength in settings.penalties:
            gates = HardConcreteGates(heads=heads, strength=strength, seed=seed)
            yield FurtherTraining(method, strength, 0, gates, f"{strength:g}")
        return
    hard = method == "exact-straight-through"
    for name, k in kept_counts(settings, heads):
        exact = ExactGates(heads=heads, k=k, straight_through=hard, seed=seed)
        yield FurtherTraining(method, k, 0, exact, name)


def continued(heads: Sequence[Head]) -> FurtherTraining:
    """Return the control that keeps every head and trains on."""
    return FurtherTraining("continued", len(heads), 0, fixed(frozenset(), heads), "all")


def controls(
    settings: GateSettings, heads: Sequence[Head], scores: Mapping[Head, float], seed: int
) -> Iterator[FurtherTraining]:
    """Yield what learned gates are compared with: all heads, the best by a criterion, random ones.

    All are trained further like the learned ones, so that what differs is which heads stay (Prasanna et al. 2020
    retrain random layouts; Voita et al. 2019 have no such control).
    """
    yield continued(heads)
    for name, k in kept_counts(settings, len(heads)):
        gone = removed_first(least_important_first(scores, heads), len(heads) - k)
        yield FurtherTraining("gradient", k, 0, fixed(gone, heads), f"gradient-{name}")
        for draw in range(1, settings.random_draws + 1):
            gone = removed_first(random_order(heads, 1000 * seed + draw), len(heads) - k)
            yield FurtherTraining("random", k, draw, fixed(gone, heads), f"random{draw}-{name}")


DECIDED = 0.95
"""A gate is decided if it is zero, or one, with at least this probability."""


_OPEN = 2.5  # log alpha at the start: open with a probability of 0.96, so that training starts at the trained model
