"""Integrated gradients of the loss over the gates of all heads together (Sundararajan et al. 2017, Eq. 1).

On the straight path from all heads closed (every gate 0) to all heads open (every gate 1), where all gates are a,

    IG_h = - integral over a from 0 to 1 of dL/dxi_h at xi = (a, ..., a)

The sign makes heads that lower the loss important. The scores of all heads add up to L(closed) - L(open), up to the
error of the quadrature. That error is known, as both losses are: the trapezoidal rule, which has both ends among its
points, is refined until the scores are complete. Kinks of ReLUs make the slopes jump; along a path through many of them
the error falls like 1 / points by any rule, of Gauss and Legendre, too. Heads of a model that is not monotone on this
path may score below 0.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

logger = logging.getLogger(__name__)

STEPS = 64
"""Steps on the path at first. Measured errors of the sum of all scores, as shares of L(closed) - L(open): 4e-4 in a
random classifier, 1e-5 in a small trained translation model. In a random translation model, whose scores add up to an
eighth of their sizes, 6e-3, and 2e-4 with 256 steps. Single scores of these three differ from those with 512, 256 and
1024 steps by at most 5e-4, 3e-4 and 2e-3 of the largest."""

COMPLETE = 1e-3
"""Error of the sum of all scores, as a share of L(closed) - L(open), above which the number of steps is doubled."""

MOST = 1024
"""Steps that are not doubled again."""

EXAMPLES = 256
"""Examples, from the start of the set."""


def score_by_integrated_gradients(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    half: int | None = None,
    steps: int = STEPS,
    complete: float = COMPLETE,
    examples: int | None = EXAMPLES,
) -> dict[str, dict[Head, float]]:
    """Score all heads by `integrated-gradients`, in nats per example.

    Costs a forward and a backward pass over the examples for every point, one more than steps, for any number of heads.
    Removed heads stay closed on the whole path; they score 0, as do heads sliced out.
    """
    from headroom.methods.masked_losses import all_scores, list_examples, open_heads

    heads = open_heads(model, removed)
    chosen = list_examples(batches, half=half, limit=examples)
    if not heads:
        return {"integrated-gradients": all_scores(model, heads, [])}
    (closed, first), *inner, (opened, last) = (_at(model, heads, chosen, step / steps) for step in range(steps + 1))
    integral = ((first + last) / 2 + sum(slopes for _, slopes in inner)) / steps  # (N,)

    def error() -> float:
        return abs(float(integral.sum()) + closed - opened) / (abs(closed - opened) or 1.0)

    while error() > complete and steps < MOST:
        between = sum(_at(model, heads, chosen, (step + 0.5) / steps)[1] for step in range(steps))
        integral, steps = (integral + between / steps) / 2, 2 * steps
    if error() > complete:
        logger.warning("integrated-gradients: with %d steps the error of the sum of scores is %.1g", steps, error())
    count = sum(len(batch.positions) for batch in chosen)
    return {"integrated-gradients": all_scores(model, heads, (-integral / count).tolist())}


def _at(model: HeadModel, heads: Sequence[Head], chosen: Sequence[Batch], gate: float) -> tuple[float, Tensor]:
    """Return the loss of all examples with one gate on all heads, and its slopes in the gates of the heads, (N,)."""
    import torch

    from headroom.methods.masked_losses import set_gates

    total, slopes = 0.0, torch.zeros(len(heads), dtype=torch.float64)
    for batch in chosen:
        gates = torch.full((len(heads),), gate, dtype=torch.float64, requires_grad=True)
        with torch.enable_grad(), set_gates(model, gates, heads):
            losses = model.losses(batch)[0]  # (B,)
            slopes += torch.autograd.grad(losses.sum(), gates)[0]
        total += float(losses.detach().double().sum())
    return total, slopes


CRITERIA = (
    Criterion(
        "integrated-gradients",
        "backward",
        True,
        "Sundararajan et al. 2017, Eq. 1, over gates",
        COMPARED,
        score=score_by_integrated_gradients,
    ),
)
