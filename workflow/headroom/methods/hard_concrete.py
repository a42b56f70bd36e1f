"""The hard-concrete distribution of gates (Louizos et al. 2018; Voita et al. 2019, section 6.1).

A binary concrete sample on (0, 1) is stretched to (LOW, HIGH) and clipped to [0, 1]:

    s = sigmoid((log u - log(1 - u) + log_alpha) / TEMPERATURE),  g = clip(s * (HIGH - LOW) + LOW, 0, 1)

so that a gate is exactly 0 or exactly 1 with a probability that `log_alpha` moves, and gradients flow in between.
"""

import math

import torch
from torch import Tensor

TEMPERATURE = 0.33
LOW, HIGH = -0.1, 1.1
"""Temperature and stretch of Voita et al.'s released code."""

_SMALLEST = 1e-6  # uniform numbers are kept this far from 0 and 1


def sample(log_alpha: Tensor, uniform: Tensor) -> Tensor:
    """Return gates, shape as `log_alpha`, differentiable in it.

    Args:
        log_alpha: Locations, one per gate.
        uniform: Uniform numbers from (0, 1), of the same shape.
    """
    uniform = uniform.clamp(_SMALLEST, 1 - _SMALLEST)
    concrete = torch.sigmoid((torch.logit(uniform) + log_alpha) / TEMPERATURE)
    return _stretched(concrete).clamp(0, 1)


def settled(log_alpha: Tensor) -> Tensor:
    """Return the gates of evaluation, without noise: clip(sigmoid(log_alpha) * (HIGH - LOW) + LOW, 0, 1)."""
    return _stretched(torch.sigmoid(log_alpha)).clamp(0, 1)


def cumulative(value: float, log_alpha: Tensor) -> Tensor:
    """Return P(stretched sample <= value) before clipping, for LOW < value < HIGH."""
    place = (value - LOW) / (HIGH - LOW)
    return torch.sigmoid(TEMPERATURE * math.log(place / (1 - place)) - log_alpha)


def closed(log_alpha: Tensor) -> Tensor:
    """Return P(g = 0)."""
    return cumulative(0.0, log_alpha)


def opened(log_alpha: Tensor) -> Tensor:
    """Return P(g = 1)."""
    return 1 - cumulative(1.0, log_alpha)


def expected_open(log_alpha: Tensor) -> Tensor:
    """Return the expected number of gates that are not zero: L_C = sum of 1 - P(g = 0), a scalar."""
    return (1 - closed(log_alpha)).sum()


def _stretched(concrete: Tensor) -> Tensor:
    return concrete * (HIGH - LOW) + LOW
