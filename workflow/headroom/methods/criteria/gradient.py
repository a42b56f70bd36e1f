"""Gradient importance of heads, in every granularity from one pass (Michel et al. 2019, Eq. 2).

With a gate xi_h on head h of a site, dL/dxi_h = sum over positions t of <z_{h,t}, dL/dz_{h,t}>, and over the uses of a
site that several layers share. The literature takes the absolute value at four different places; all four come from
the same products:

    token     sum over positions of |<z, dz>|, divided by the number of positions
    example   |sum over an example's positions|, averaged over examples: Eq. 2 as printed
    batch     |sum over a batch|, averaged over batches
    squared   (sum over an example's positions)^2, averaged over examples: the diagonal of the Fisher matrix

The loss of an example is the sum of the negative log-likelihoods of its tokens, without smoothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from headroom.core.heads import Head, Site
from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

SOURCES = {
    "gradient-token": "code of Michel et al. 2019",
    "gradient-example": "Michel et al. 2019, Eq. 2",
    "gradient-batch": "Michel et al. 2019, Eq. 2, with the absolute value over a batch",
    "gradient-squared": "diagonal of the Fisher matrix",
}


def gradient_scores(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads, by criterion, in one pass over batches with references.

    The model is in eval mode, and its parameters need no gradient. Heads removed score zero. With `half` 0 or 1 only
    examples at even, or odd, positions of their set count.

    >>> scores = gradient_scores(model, batches)["gradient-example"]
    >>> print(max(scores, key=scores.get))
    E1:3
    """
    granularities = Granularities(model)
    for batch in batches:
        if rows := build_rows(batch, half):
            granularities.add(gate_gradients(model, batch, removed), None if half is None else rows)
    return granularities.scores()


def build_rows(batch: Batch, half: int | None) -> list[int]:
    """Return the rows of a batch whose examples count: all, or those at even (0) or odd (1) positions of the set."""
    return [row for row, place in enumerate(batch.positions) if half is None or place % 2 == half]


class Granularities:
    """The sums of `SOURCES` over batches."""

    def __init__(self, model: HeadModel) -> None:
        import torch

        self._sums = {site: torch.zeros(len(SOURCES), site.heads, dtype=torch.float64) for site in model.sites}
        self._counts = {site: torch.zeros(len(SOURCES), 1, dtype=torch.float64) for site in model.sites}

    def add(self, products: Mapping[Site, Tensor], rows: Sequence[int] | None = None) -> None:
        """Add the products of a batch, (T, B, H) by site, of some of its rows or of all."""
        for sites, stacked in _stack_products(products):
            values, terms = _reduce_products(stacked if rows is None else stacked[:, :, rows])
            for site, value, count in zip(sites, values.cpu(), terms.cpu()):
                self._sums[site] += value
                self._counts[site] += count

    def scores(self) -> dict[str, dict[Head, float]]:
        """Return the scores of all heads, by criterion."""
        means = {site: total / self._counts[site].clamp(min=1) for site, total in self._sums.items()}
        return {
            name: of_heads({site: rows[place] for site, rows in means.items()}) for place, name in enumerate(SOURCES)
        }


def of_heads(values: Mapping[Site, Tensor]) -> dict[Head, float]:
    """Return the values of sites, (H,) each, by head."""
    return {head: value for site, own in values.items() for head, value in zip(site.head_names(), own.tolist())}


def gate_gradients(
    model: HeadModel, batch: Batch, removed: Collection[Head] = (), also: Callable[..., None] | None = None
) -> dict[Site, Tensor]:
    """Return <z, dL/dz> at every position, shape (T, B, H): summed over T, the gate's gradient per example.

    The products of a site that runs several times in a pass are added up. Heads sliced out of the model are zero like
    masked ones; a site without any head left is not returned.

    The loss is a sum over examples and no operation mixes examples, so one backward pass gives every
    example its own gradient at any batch size.

    Args:
        model: In eval mode.
        batch: With references.
        removed: Heads that are masked.
        also: Called with each site as often as it runs, z and dL/dz, (T, B, K, d) of its K remaining heads.
    """
    import torch

    seen: list[tuple[Site, Tensor]] = []

    def keep(site: Site, z: Tensor) -> None:
        seen.append((site, z if z.requires_grad else z.requires_grad_()))  # z of layer 1 do not, as no weight does

    with torch.enable_grad(), model.gates.masked(removed), model.gates.observed(keep):
        loss = model.losses(batch)[0].sum()
    if not seen:
        return {}
    gradients = torch.autograd.grad(loss, [z for _, z in seen], allow_unused=True, materialize_grads=True)
    kept = {live.site: live.kept for live in model.live_sites}
    found: dict[Site, Tensor] = {}
    with torch.no_grad():
        for (site, z), gradient in zip(seen, gradients):
            if also:
                also(site, z, gradient)
            products = place_kept((z * gradient).sum(-1), kept[site], site.heads)
            found[site] = found[site] + products if site in found else products
    return found


def _stack_products(products: Mapping[Site, Tensor]) -> Iterator[tuple[list[Site], Tensor]]:
    """Yield the products of sites of one shape together, (S, T, B, H): fewer operations on small tensors."""
    import torch

    for shape in dict.fromkeys(one.shape for one in products.values()):
        sites = [site for site, one in products.items() if one.shape == shape]
        yield sites, torch.stack([products[site] for site in sites])


def _reduce_products(products: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sums over a batch (S, criteria, H) and their numbers of terms (S, criteria, 1), as in `SOURCES`.

    Padding adds zeros.
    """
    import torch

    examples = products.sum(1)  # (S, B, H)
    positions = (products != 0).any(-1).sum((1, 2))  # (S,)
    sums = [products.abs().sum((1, 2)), examples.abs().sum(1), examples.sum(1).abs(), examples.square().sum(1)]
    each, one = torch.full_like(positions, examples.shape[1]), torch.ones_like(positions)
    return torch.stack(sums, dim=1), torch.stack([positions, each, one, each], dim=1).unsqueeze(-1)


def place_kept(values: Tensor, kept: Sequence[int], heads: int) -> Tensor:
    """Return values (..., K) of the heads kept as (..., H) of all that the site was trained with; 0 for the others."""
    if len(kept) == heads:
        return values
    whole = values.new_zeros(*values.shape[:-1], heads)
    whole[..., [index - 1 for index in kept]] = values
    return whole


CRITERIA = tuple(
    Criterion(name, "backward", True, source, score=gradient_scores, compared=name in list(SOURCES)[:2])
    for name, source in SOURCES.items()
)
