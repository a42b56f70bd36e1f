"""Product of the norms of a head's gradients in the query, key and value projections (Greedy-Gnorm, 2026).

    score_h = ||dL/dW_Q,h||_F * ||dL/dW_K,h||_F * ||dL/dW_V,h||_F

with W_Q,h the rows of head h and L the mean loss of the examples (Guo and Sheridan 2026, arXiv:2602.04491). L is the
loss with respect to the references. The authors' code uses the norm of the logits instead, which needs no labels but is
not the loss of the paper. "Greedy" are orders that compute the scores again after each removed head:
`orders.rescored_order` with `gnorm_scores` under the heads removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from torch import nn

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import AttentionSite


def gnorm_scores(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads by `gnorm`, in one forward and backward pass over batches with references.

    The model is in eval mode. Heads removed or sliced out score 0. With `half` 0 or 1 only examples at even, or odd,
    positions of their set count. Learned queries have one projection, whose norm is their score.

    >>> scores = gnorm_scores(model, batches)["gnorm"]
    >>> print(min(scores, key=scores.get))
    E2:1
    """
    import torch

    from headroom.methods.masked_losses import all_scores, list_examples, open_heads, set_gates

    heads = open_heads(model, removed)
    chosen = list_examples(batches, half=half)
    weights = {live.site: _weights(live) for live in model.live_sites if live.kept}
    flat = [weight for own in weights.values() for weight in own]
    sums = [torch.zeros_like(weight) for weight in flat]
    with _needing_gradients(flat), set_gates(model, torch.ones(len(heads)), heads), torch.enable_grad():
        for batch in chosen if heads else ():
            loss = model.losses(batch)[0].sum()
            gradients = torch.autograd.grad(loss, flat, allow_unused=True, materialize_grads=True)
            torch._foreach_add_(sums, gradients)
    count = sum(len(batch.positions) for batch in chosen)
    gradients_of = iter(sums)
    norms: dict[Head, float] = {}
    for live in model.live_sites:
        blocks = [next(gradients_of).unflatten(0, (len(live.kept), -1)) for _ in weights.get(live.site, ())]
        if blocks:
            by_head = torch.stack([block.double().flatten(1).norm(dim=1) / count for block in blocks])  # (3, K)
            norms |= zip(live.kept_heads(), by_head.prod(0).tolist())
    return {"gnorm": all_scores(model, heads, [norms[head] for head in heads])}


def _weights(live: AttentionSite) -> list[nn.Parameter]:
    """Return the weights of the query, key and value projections, (K * d, width) each."""
    return [projection.get_parameter("weight") for projection in live.query_key_value]


@contextmanager
def _needing_gradients(weights: Sequence[nn.Parameter]) -> Iterator[None]:
    """Let weights need gradients within a block."""
    before = [weight.requires_grad for weight in weights]
    for weight in weights:
        weight.requires_grad_(True)
    try:
        yield
    finally:
        for weight, needed in zip(weights, before):
            weight.requires_grad_(needed)


CRITERIA = (
    Criterion(
        "gnorm",
        "backward",
        True,
        "Greedy-Gnorm (arXiv 2602.04491)",
        COMPARED,
        score=gnorm_scores,
    ),
)
