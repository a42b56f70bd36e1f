"""Attention attribution of heads: integrated gradients over attention weights (Hao et al. 2021, Eq. 3 and 5).

With A_h the attention weights of head h, all heads of one site are scaled together, site by site:

    Attr_h = A_h * 1/m sum over k = 1..m of dF/dA_h at (k/m) A,    I_h = mean over examples of max over i, j of Attr_h

F is the model's probability of the label; of a translation the geometric mean of the probabilities of its tokens, which
for a single target is the same. No pass needs gradients through the attention itself: the output of a head is
z_h = A_h V_h with values V_h that do not depend on A_h, so that (k/m) A is a gate of k/m on the site, and

    dF/dA_h,ij = <dF/dz_h,i, V_h,j>

A head whose weights all lower F scores 0, as it would by any position that is masked: padding does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from torch import Tensor, nn

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import AttentionSite

EXAMPLES = 200
"""Examples, from the start of the set; number as in Hao et al.'s released code."""

STEPS = 20
"""Steps of an integral; number as in Hao et al.'s released code."""


def attention_attribution_scores(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    half: int | None = None,
    examples: int | None = EXAMPLES,
    steps: int = STEPS,
) -> dict[str, dict[Head, float]]:
    """Score all heads by `attention-attribution`; heads removed or sliced out score 0.

    Costs m = `steps` forward and backward passes over the examples for each site, from the site on, and a forward pass
    for the weights.

    Raises:
        HeadroomError: If the model does not show its attention weights, or a site has no values or is used by several
            layers.
    """
    import torch

    from headroom.methods.masked_losses import all_scores, list_examples, open_heads
    from headroom.models.reusable import trace_reusable

    heads = open_heads(model, removed)
    chosen = list_examples(batches, half=half, limit=examples)
    with torch.no_grad():
        reusable = trace_reusable(model, lambda batch: model.losses(batch)[0], chosen[-1])
    sums: dict[Head, float] = dict.fromkeys(heads, 0.0)
    for batch in chosen:
        maps, values = _attend(model, batch, heads)
        stored: dict[nn.Module, object] = {}
        for live in (live for live in model.live_sites if live.kept):
            with reusable.reused(live.site, stored):
                slopes = _mean_slopes(model, batch, live.site, heads, steps)
            slopes_of_weights = torch.einsum("tbkd,sbkd->bkts", slopes, values[live.site])
            largest = (maps[live.site] * slopes_of_weights).flatten(2).amax(-1).clamp(min=0)  # (B, K)
            for head, value in zip(live.kept_heads(), largest.double().sum(0).tolist()):
                if head in sums:
                    sums[head] += value
    count = sum(len(batch.positions) for batch in chosen)
    return {"attention-attribution": all_scores(model, heads, [value / count for value in sums.values()])}


def _attend(model: HeadModel, batch: Batch, heads: Sequence[Head]) -> tuple[dict[Site, Tensor], dict[Site, Tensor]]:
    """Return the attention weights (B, K, T, S) and the values (S, B, K, d) of every site with heads."""
    import torch

    from headroom.methods.masked_losses import set_gates
    from headroom.models.sites import shown_values

    sites: list[AttentionSite] = [live for live in model.live_sites if live.kept]
    for live in sites:
        _ = live.value  # raises if a site has none
        if live.uses > 1:
            raise HeadroomError(
                f"{live.site}: {live.uses} layers share its heads, and a gate changes their attention weights and "
                "values in all but the first; leave attention-attribution out"
            )
    maps: dict[Site, Tensor] = {}
    values: dict[Site, Tensor] = {}
    with (
        torch.no_grad(),
        set_gates(model, torch.ones(len(heads)), heads),
        model.maps_shown(maps.__setitem__),
        shown_values(sites, values.__setitem__),
    ):
        model.losses(batch)
    return maps, values


def _mean_slopes(model: HeadModel, batch: Batch, site: Site, heads: Sequence[Head], steps: int) -> Tensor:
    """Return the mean of dF/dz over the gates k/m of a site, k = 1..m, summed over no examples, (T, B, K, d)."""
    import torch

    from headroom.methods.masked_losses import set_gates

    seen: list[Tensor] = []

    def keep(own: Site, z: Tensor) -> None:
        if own == site:
            seen.append(z if z.requires_grad else z.requires_grad_())

    total: Tensor = torch.zeros(())
    inside = torch.tensor([site.kind == head.kind and site.layer == head.layer for head in heads], dtype=torch.bool)
    for step in range(1, steps + 1):
        gates = torch.where(inside, step / steps, 1.0)
        seen.clear()
        with torch.enable_grad(), set_gates(model, gates, heads), model.gates.observed(keep):
            nats, targets = model.losses(batch)
            probability = torch.exp(-nats / targets).sum()
        total = total + torch.autograd.grad(probability, seen)[0] / steps
    return total


CRITERIA = (
    Criterion(
        "attention-attribution",
        "backward",
        True,
        "Hao et al. 2021, Eq. 3 and 5",
        COMPARED,
        score=attention_attribution_scores,
        maps=True,
    ),
)
