"""Gates of heads in further training: learned, or fixed."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headroom.core.heads import Head, Site

DECIDED = 0.95
"""A gate is decided if it is zero, or one, with at least this probability."""

TEMPERATURE = 0.33
LOW, HIGH = -0.1, 1.1
"""Temperature and stretch of the hard-concrete distribution in Voita et al.'s released code."""

_OPEN = 2.5  # log alpha at the start: open with a probability of 0.96, so that training starts at the trained model
_MARGIN = 1e-6  # uniform numbers of hard-concrete samples are kept this far from 0 and 1


class GateSource:
    """Source of the gates of a training batch. All tensors have one value per head in scope, (N,)."""

    def parameters(self) -> list[Tensor]:
        """Return the parameters of the optimizer; empty for fixed gates."""
        return []

    def draw(self) -> Tensor:
        """Return the gates of a batch while they are learned."""
        raise NotImplementedError

    def penalty(self) -> Tensor:
        """Return the penalty on the loss, a scalar."""
        return torch.zeros(())

    def kept(self) -> Tensor:
        """Return the final gates, 0 or 1."""
        raise NotImplementedError

    def soft(self) -> Tensor | None:
        """Return the soft evaluation gates; None if they are hard."""
        return None

    def undecided(self) -> int:
        """Return the number of gates that are neither 0 nor 1 with a probability of `DECIDED`."""
        return 0

    def scored(self) -> list[float]:
        """Return the score of every learned gate: its parameter."""
        return [score for parameter in self.parameters() for score in parameter.tolist()]


class FixedGates(GateSource):
    """Heads that are kept or removed from the start."""

    def __init__(self, removed: frozenset[Head], heads: Sequence[Head]) -> None:
        self._gates = torch.tensor([float(head not in removed) for head in heads])

    def kept(self) -> Tensor:
        """Return 0 for removed heads."""
        return self._gates


class HardConcreteGates(GateSource):
    """Hard-concrete gates under an L0 penalty (Louizos et al. 2018; Voita et al. 2019, section 6.1).

    A binary concrete sample on (0, 1) is stretched to (LOW, HIGH) and clipped to [0, 1]:

        s = sigmoid((log u - log(1 - u) + log_alpha) / TEMPERATURE),  g = clip(s * (HIGH - LOW) + LOW, 0, 1)

    so that a gate is exactly 0 or exactly 1 with a probability that depends on `log_alpha`, and differentiable
    otherwise.
    """

    def __init__(self, *, heads: int, strength: float, seed: int) -> None:
        """Start with all N gates almost surely open.

        Args:
            heads: N.
            strength: Lambda, above 0: nats per expected open gate that are added to the mean loss of a target.
            seed: The seed of the noise.
        """
        if strength <= 0:
            raise ValueError(f"the penalty lambda must be above 0, found {strength}")
        self.log_alpha = torch.full((heads,), _OPEN, requires_grad=True)
        self._strength = strength
        self._noise = torch.Generator().manual_seed(seed)

    def parameters(self) -> list[Tensor]:
        """Return log alpha."""
        return [self.log_alpha]

    def draw(self) -> Tensor:
        """Return a new sample."""
        return self.sample(torch.rand(len(self.log_alpha), generator=self._noise))

    def penalty(self) -> Tensor:
        """Return lambda times the expected number of open gates, a scalar."""
        return self._strength * self.expected_open()

    @torch.no_grad()
    def kept(self) -> Tensor:
        """Return the more probable of 0 and 1; 0 if P(g = 0) and P(g = 1) are equal."""
        return (self.opened() > self.closed()).float()

    def sample(self, uniform: Tensor) -> Tensor:
        """Return gates (N,), differentiable in log alpha, from uniform numbers of (0, 1), (N,)."""
        uniform = uniform.clamp(_MARGIN, 1 - _MARGIN)
        return _stretch(torch.sigmoid((torch.logit(uniform) + self.log_alpha) / TEMPERATURE))

    @torch.no_grad()
    def soft(self) -> Tensor:
        """Return the gates without noise: clip(sigmoid(log_alpha) * (HIGH - LOW) + LOW, 0, 1)."""
        return _stretch(torch.sigmoid(self.log_alpha))

    def cumulative(self, value: float) -> Tensor:
        """Return P(stretched sample <= value) before clipping, for LOW < value < HIGH."""
        place = (value - LOW) / (HIGH - LOW)
        return torch.sigmoid(TEMPERATURE * math.log(place / (1 - place)) - self.log_alpha)

    def closed(self) -> Tensor:
        """Return P(g = 0) of every gate."""
        return self.cumulative(0.0)

    def opened(self) -> Tensor:
        """Return P(g = 1) of every gate."""
        return 1 - self.cumulative(1.0)

    def expected_open(self) -> Tensor:
        """Return the expected number of gates that are not zero: L_C = sum of 1 - P(g = 0), a scalar."""
        return (1 - self.closed()).sum()

    def undecided(self) -> int:
        """Return their number."""
        return int((torch.maximum(self.closed(), self.opened()) < DECIDED).sum())


def _stretch(concrete: Tensor) -> Tensor:
    return (concrete * (HIGH - LOW) + LOW).clamp(0, 1)


def by_site(values: Tensor, heads: Sequence[Head], sites: Sequence[Site]) -> dict[Site, Tensor]:
    """Return gates (N,) of heads in table order as a gate (H,) per site that has one of them."""
    places = {head: index for index, head in enumerate(heads)}
    return {
        site: values[[places[head] for head in site.head_names()]]
        for site in sites
        if any(head in places for head in site.head_names())
    }


def find_profile(kept: Tensor, heads: Sequence[Head]) -> frozenset[Head]:
    """Return the heads whose gate (N,) is zero."""
    return frozenset(head for head, gate in zip(heads, kept.tolist()) if not gate)
