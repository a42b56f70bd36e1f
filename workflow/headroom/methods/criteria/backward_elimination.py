"""Greedy backward elimination by the true loss, the upper reference of criteria.

At each step the head is removed whose removal leaves the lowest loss, with all heads removed before:

    h = argmin over the remaining heads of L(P + h),  P <- P + h

The score of a head is the step at which it is removed, from 1. With H heads this is H (H + 1) / 2 masks; what lies
below the layer of a candidate is computed once for all candidates. Greedy is not optimal: a pair of heads that matters
only together is not seen from its single heads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

EXAMPLES = 256
"""Examples, from the start of the set."""


def eliminate(model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = ()) -> list[tuple[Head, float]]:
    """Return all remaining heads in the order of their removal, with the mean loss of an example after each.

    Equal losses are decided by table order. The model is in eval mode, batches have references.
    """
    import torch

    from headroom.methods.masked_losses import MaskedLosses, open_heads

    heads, chosen = open_heads(model, removed), list(batches)
    rest, kept = list(range(len(heads))), torch.ones(len(heads))
    masked = MaskedLosses(model, chosen, heads)
    order: list[tuple[Head, float]] = []
    while rest:
        candidates = kept.repeat(len(rest), 1)  # (M, N): a row without each of the remaining heads
        candidates[range(len(rest)), rest] = 0
        losses = masked.mean(candidates, base=kept)
        best = int(losses.argmin())
        kept = candidates[best]
        order.append((heads[rest.pop(best)], float(losses[best])))
    return order


def backward_elimination_scores(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    half: int | None = None,
    examples: int | None = EXAMPLES,
) -> dict[str, dict[Head, float]]:
    """Score all heads by `backward-elimination`: the step at which they are removed; 0 for heads removed before.

    Costs at most H (H + 3) / 2 forward passes over the examples: each step adds one that the others build on.

    >>> steps = backward_elimination_scores(model, batches)["backward-elimination"]
    >>> [str(head) for head in sorted(steps, key=steps.get)][:3]
    ['E2:4', 'E1:1', 'E1:2']
    """
    from headroom.methods.masked_losses import all_scores, list_examples

    order = [head for head, _ in eliminate(model, list_examples(batches, half=half, limit=examples), removed)]
    return {"backward-elimination": all_scores(model, order, map(float, range(1, len(order) + 1)))}


CRITERIA = (
    Criterion(
        "backward-elimination",
        "forward",
        True,
        "greedy selection by the loss",
        COMPARED,
        score=backward_elimination_scores,
    ),
)
