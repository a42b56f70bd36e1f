"""Causal head gating: gates of a frozen model under pressure to open and to close (Nam et al. 2025, NeurIPS).

With theta one number per head and gates sigmoid(theta), three fits minimise

    mean nats of a target - lambda * mean over heads of clamp(theta, -4, 4)

first with lambda 0, from there with +lambda (gates G+: a head stays closed only if it harms) and again from there with
-lambda (gates G-: a head stays open only if it helps). A head is

    facilitating   by G-               needed although gates are pushed to close
    irrelevant     by G+ (1 - G-)      as it is pushed
    interfering    by 1 - G+           closed although gates are pushed to open

and has the role of the largest of the three. The score is our summary in one number: (G+ + G-) / 2 is 1 for
facilitating, 1/2 for irrelevant and 0 for interfering heads, and orders them so.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

STRENGTH = 0.1
"""Lambda, in nats; this and the next three as in the authors' released code."""

LARGEST = 4.0
"""The penalty is constant for |theta| above this: gates beyond 0.018 and 0.982 are not pushed."""

RATE = 1.0
"""Learning rate of Adam."""

CLIP = 1.0
"""Largest norm of the gradient of all gates together."""

UPDATES = 100
"""Updates of each of the three fits; the paper makes 500. Gates decide in tens of updates at this learning rate."""


@dataclass(frozen=True)
class CausalGates:
    """The gates of a head after the fits with +lambda and -lambda, in (0, 1)."""

    opened: float
    closed: float

    @property
    def score(self) -> float:
        """(G+ + G-) / 2, in (0, 1)."""
        return (self.opened + self.closed) / 2


def causal_gates(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    updates: int = UPDATES,
    strength: float = STRENGTH,
    seed: int = 0,
) -> dict[Head, CausalGates]:
    """Return the gates of all heads that are neither removed nor sliced out.

    Gates start at uniform numbers of (0, 1). Every update has one batch; after all batches they are shuffled again.

    Args:
        model: A model in eval mode, whose parameters need no gradient.
        batches: Batches with references.
        removed: Heads that stay closed.
        updates: The number of updates of each of the three fits.
        strength: Lambda.
        seed: The seed of the first gates and of the order of batches.
    """
    import torch

    from headroom.methods.masked_losses import open_heads

    heads = open_heads(model, removed)
    drawn = torch.rand(len(heads), generator=torch.Generator().manual_seed(seed))
    feed = _endless(list(batches), seed)
    free = _fit_gates(model, heads, torch.logit(drawn, eps=1e-6), feed, updates, 0.0)
    opened, closed = (
        _fit_gates(model, heads, free, feed, updates, sign * strength).sigmoid().tolist() for sign in (1, -1)
    )
    return {head: CausalGates(*pair) for head, pair in zip(heads, zip(opened, closed))}


def _endless(batches: Sequence[Batch], seed: int) -> Iterator[Batch]:
    """Yield batches in random orders, forever."""
    shuffled = random.Random(seed)
    while True:
        yield from shuffled.sample(batches, len(batches))


def _fit_gates(
    model: HeadModel, heads: Sequence[Head], start: Tensor, feed: Iterator[Batch], updates: int, strength: float
) -> Tensor:
    """Return theta (N,) after updates from a start (N,) under a penalty of this strength."""
    import torch

    from headroom.methods.masked_losses import set_gates

    theta = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=RATE)
    for _ in range(updates if heads else 0):
        batch = next(feed)
        with torch.enable_grad(), set_gates(model, theta.sigmoid(), heads):
            nats, targets = model.losses(batch)
            loss = (nats / targets).mean().cpu() - strength * theta.clamp(-LARGEST, LARGEST).mean()
        (theta.grad,) = torch.autograd.grad(loss, [theta])
        torch.nn.utils.clip_grad_norm_([theta], CLIP)
        optimizer.step()
    return theta.detach()


def causal_gating_scores(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    half: int | None = None,
    updates: int = UPDATES,
    strength: float = STRENGTH,
    seed: int = 0,
) -> dict[str, dict[Head, float]]:
    """Score all heads by `causal-gating`, the mean of G+ and G-, in (0, 1); heads removed or sliced out score 0.

    Costs 3 * `updates` forward and backward passes over one batch, for any number of heads and examples.
    """
    from headroom.methods.masked_losses import all_scores, list_examples

    chosen = list_examples(batches, half=half)
    found = causal_gates(model, chosen, removed, updates=updates, strength=strength, seed=seed)
    return {"causal-gating": all_scores(model, list(found), [gates.score for gates in found.values()])}


CRITERIA = (
    Criterion(
        "causal-gating",
        "training",
        True,
        "Nam et al. 2025",
        COMPARED,
        score=causal_gating_scores,
    ),
)
