"""Exactly K of N, differentiably: Gumbel soft top-K (Xie and Ermon 2019; Li, Cotterell and Sachan 2021).

Perturbed scores r = w + Gumbel noise choose a subset by K softmaxes in a row, each with what was chosen before
taken away: p = softmax(r / temperature), r <- r + log(1 - p). The sum of the p is the gate; as the temperature
falls it becomes the indicator of the K largest.
"""

import torch
from torch import Tensor

HOTTEST, COLDEST = 1.0, 0.1
"""Temperatures while scores are learned. Li et al. cool down to 1e-8 over 15,000 updates; below 0.1 hardly any
gradient is left, so with hundreds of updates it is better to stop there and then to take the K largest."""

_SMALLEST = torch.finfo(torch.float32).tiny  # what is left of a probability of one


def top_k(scores: Tensor, k: int) -> Tensor:
    """Return 0/1 gates, shape (N,), that are one at exactly the K largest scores; of equal ones the first.

    Raises:
        ValueError: If K is not between 0 and N.
    """
    if not 0 <= k <= len(scores):
        raise ValueError(f"cannot keep {k} of {len(scores)} heads")
    chosen = torch.sort(scores, descending=True, stable=True).indices[:k]
    return torch.zeros_like(scores).index_fill(0, chosen, 1)


def soft_top_k(scores: Tensor, k: int, temperature: float) -> Tensor:
    """Return gates in [0, 1], shape (N,), that add up to K; differentiable in the scores.

    Args:
        scores: Perturbed scores r, (N,).
        k: How many to choose.
        temperature: Above zero; the lower, the closer to `top_k`.
    """
    rest = scores.double()
    chosen = torch.zeros_like(rest)
    for _ in range(k):
        share = torch.softmax(rest / temperature, dim=0)
        chosen = chosen + share
        rest = rest + torch.log((1 - share).clamp(min=_SMALLEST))
    return chosen.to(scores.dtype)


def straight_through(scores: Tensor, k: int, temperature: float) -> Tensor:
    """Return the gates of `top_k` with the gradient of `soft_top_k`."""
    soft = soft_top_k(scores, k, temperature)
    return top_k(scores.detach(), k) + (soft - soft.detach())


def gumbel(uniform: Tensor) -> Tensor:
    """Return standard Gumbel noise from uniform numbers of (0, 1)."""
    return -torch.log(-torch.log(uniform.clamp(_SMALLEST, 1 - 1e-7)))


def temperature(progress: float) -> float:
    """Return the temperature at a share of the cooling, log-linearly from `HOTTEST` to `COLDEST`."""
    return float(HOTTEST ** (1 - progress) * COLDEST**progress)
