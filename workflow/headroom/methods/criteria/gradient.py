"""Gradient importance of heads, in every granularity from one pass (Michel et al. 2019, Eq. 2).

With a gate xi_h on head h of a site, dL/dxi_h = sum over positions t of <z_{h,t}, dL/dz_{h,t}>. The
literature takes the absolute value at four different places; all four come from the same products:

    token     sum over positions of |<z, dz>|, divided by the number of positions
    example   |sum over an example's positions|, averaged over examples: Eq. 2 as printed
    batch     |sum over a batch|, averaged over batches
    squared   (sum over an example's positions)^2, averaged over examples: the diagonal of the Fisher matrix

The loss of an example is the sum of the negative log-likelihoods of its pieces, without smoothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.heads import Head, Site
from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.engines.head_model import HeadModel

SOURCES = {
    "gradient-token": "code of Michel et al. 2019",
    "gradient-example": "Michel et al. 2019, Eq. 2",
    "gradient-batch": "Michel et al. 2019, Eq. 2, with the absolute value over a batch",
    "gradient-squared": "diagonal of the Fisher matrix",
}


def gradient_scores(
    model: HeadModel, batches: Iterable[Any], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads, by criterion, in one pass over batches with references.

    The model is in eval mode, and its parameters need no gradient. Heads removed score zero. With `half` 0 or 1 only
    examples at even, or odd, positions of their set count.
    """
    import torch

    sums = {criterion: {site: torch.zeros(site.heads) for site in model.sites} for criterion in SOURCES}
    counts = {criterion: dict.fromkeys(model.sites, 0) for criterion in SOURCES}
    for batch in batches:
        rows = [row for row, place in enumerate(batch.positions) if half is None or place % 2 == half]
        for site, products in gate_gradients(model, batch, removed).items() if rows else ():
            for criterion, (value, count) in _reduced(products[:, rows]).items():
                sums[criterion][site] += value.cpu()
                counts[criterion][site] += count
    return {criterion: _by_head(sums[criterion], counts[criterion]) for criterion in SOURCES}


def gate_gradients(model: HeadModel, batch: Any, removed: Collection[Head] = ()) -> dict[Site, Tensor]:
    """Return <z, dL/dz> at every position, shape (T, B, H): summed over T, the gate's gradient per example.

    Heads sliced out of the model are zero like masked ones; a site without any head left is not returned.

    The loss is a sum over examples and no operation mixes examples, so one backward pass gives every
    example its own gradient at any batch size.
    """
    import torch

    seen: dict[Site, Tensor] = {}
    one = torch.ones((), requires_grad=True)
    gates = {
        site: one * torch.tensor([float(head not in removed) for head in site.head_names()]).to(model.device)
        for site in model.sites
    }

    def keep(site: Site, z: Tensor) -> None:
        seen[site] = z

    model.gates.set(gates)
    try:
        with torch.enable_grad(), model.gates.observed(keep):
            loss = model.losses(batch)[0].sum()
        zs = list(seen.values())
        gradients = torch.autograd.grad(loss, zs, allow_unused=True, materialize_grads=True)
    finally:
        model.gates.clear()
    with torch.no_grad():
        kept = {live.site: live.kept for live in model.live_sites}
        return {
            site: _at_kept((z * gradient).sum(-1), kept[site], site.heads)
            for (site, z), gradient in zip(seen.items(), gradients)
        }


def _reduced(products: Tensor) -> dict[str, tuple[Tensor, int]]:
    """Return, per criterion, the sum over a batch (H,) and how many terms it has. Padding adds zeros."""
    examples = products.sum(0)  # (B, H)
    positions = int((products != 0).any(-1).sum())
    return {
        "gradient-token": (products.abs().sum((0, 1)), positions),
        "gradient-example": (examples.abs().sum(0), len(examples)),
        "gradient-batch": (examples.sum(0).abs(), 1),
        "gradient-squared": (examples.square().sum(0), len(examples)),
    }


def _at_kept(products: Tensor, kept: Sequence[int], heads: int) -> Tensor:
    """Return (T, B, K) of the heads kept as (T, B, H) of all that the site was trained with."""
    if len(kept) == heads:
        return products
    whole = products.new_zeros(*products.shape[:2], heads)
    whole[..., [index - 1 for index in kept]] = products
    return whole


def _by_head(sums: dict[Site, Tensor], counts: dict[Site, int]) -> dict[Head, float]:
    return {
        head: float(value) / max(counts[site], 1)
        for site, values in sums.items()
        for head, value in zip(site.head_names(), values)
    }


CRITERIA = tuple(
    Criterion(name, "backward", True, source, score=gradient_scores, compared=name in list(SOURCES)[:2])
    for name, source in SOURCES.items()
)
