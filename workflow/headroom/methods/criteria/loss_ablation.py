"""Single-head ablation by loss: the reference that criteria are compared with."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, REFERENCE, Criterion, Scores

if TYPE_CHECKING:
    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel


def loss_ablation(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, Scores]:
    """Return by how much the mean loss of an example rises, in nats, without each head; see `Score`.

    It is the true effect of what gradient scores estimate (Michel et al. 2019, section 3.2, with the loss instead of
    the metric, which has no ties). All masks of a batch are rows of one forward pass.

    >>> rises = loss_ablation(model, batches)["loss-ablation"]
    >>> [str(head) for head, rise in rises.items() if rise > 0.01]
    ['E1:4', 'E2:1', 'E2:3']
    """
    import torch

    from headroom.methods.masked_losses import MaskedLosses, all_scores, list_examples, open_heads

    heads = open_heads(model, removed)
    masks = torch.cat([torch.ones(1, len(heads)), 1 - torch.eye(len(heads))])  # (1 + N, N): the first removes none
    losses = MaskedLosses(model, list_examples(batches, half=half), heads).mean(masks)  # (1 + N,)
    return {REFERENCE: all_scores(model, heads, (losses[1:] - losses[0]).tolist())}


CRITERIA = (
    Criterion(
        REFERENCE,
        "sweep",
        True,
        "Michel et al. 2019, section 3.2, by loss",
        table=COMPARED,
        score=loss_ablation,
    ),
)
