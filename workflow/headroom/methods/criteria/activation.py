"""Criteria from z in one forward pass, without labels.

With z_c one of the features of a head, W_c its column of the output projection W, and E the mean over positions without
padding:

    output-norm       E |W_h z_h|: the norm of what the head adds to the residual stream
    channel-variance  (Var(z_c) |W_c|^2)^2, standardised over the features of the site, mean over those of the head
    wanda             sum over its features of the mean |entry| of W_c times sqrt(E z_c^2)
    minitron          sqrt of the sum over its features of the mean over examples of (E |z_c| in the example)^2

The published sums over positions and examples are means here, which changes no order. The decoder of a translation
model reads references as its input, but the loss is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from headroom.core.heads import Head, Site
from headroom.methods.criteria import COMPARED, Criterion
from headroom.methods.criteria.gradient import build_rows, of_heads, place_kept

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import AttentionSite

SOURCES = {
    "output-norm": "average norm of head outputs (arXiv 2504.03889); NVIDIA ModelOpt",
    "channel-variance": "FLAP (AAAI 2024), WIFV",
    "wanda": "Wanda (Sun et al. 2024), structured as in the code of FLAP",
    "minitron": "Minitron (Muralidharan et al. 2024); NVIDIA ModelOpt",
}

Watch = Callable[[Site, "Tensor", "Tensor"], None]
"""Called with a site, z of its K remaining heads, (T, B, K, d), and whether each position counts, (T, B)."""


def watch(model: HeadModel, batches: Iterable[Batch], removed: Collection[Head], half: int | None, seen: Watch) -> None:
    """Run the masked model once over batches and show z of every site; with `half` only half of the examples count."""
    import torch

    for batch in batches:
        if not (rows := build_rows(batch, half)):
            continue
        real = model.real(batch)

        def show(site: Site, z: Tensor, real: Any = real, rows: list[int] = rows) -> None:
            counts = torch.zeros(z.shape[:2], dtype=torch.bool, device=z.device)
            counts[:, rows] = real[site.kind][0].T[:, rows]
            seen(site, z, counts)

        with torch.inference_mode(), model.gates.masked(removed), model.gates.observed(show):
            model.logits(batch)


def columns(live: AttentionSite) -> Tensor:
    """Return the columns of a site's output projection by remaining head and feature, (D, K, d), in float64."""
    return live.output_weight.detach().unflatten(1, (len(live.kept), -1)).double()


def activation_scores(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads by these criteria in one forward pass; arguments and removed heads as in `gradient_scores`.

    >>> scores = activation_scores(model, batches, removed=[Head("E", 1, 2)])["output-norm"]
    >>> scores[Head("E", 1, 2)], round(scores[Head("E", 1, 3)], 2)
    (0.0, 2.2)
    """
    import torch

    sums = {live.site: ChannelSums(live) for live in model.live_sites if live.kept}
    watch(model, batches, removed, half, lambda site, z, counts: sums[site].add(z, counts))
    found: dict[str, dict[Site, Tensor]] = {name: {} for name in SOURCES}
    for live in model.live_sites:
        whole = torch.zeros(len(SOURCES), live.site.heads, dtype=torch.float64)
        if live.kept:
            here = torch.tensor([head not in removed for head in live.kept_heads()])
            whole = place_kept(sums[live.site].scores(here) * here, live.kept, live.site.heads)
        for name, values in zip(SOURCES, whole):
            found[name][live.site] = values
    return {name: of_heads(values) for name, values in found.items()}


class ChannelSums:
    """Sums over the positions of a site, for every feature of its heads."""

    def __init__(self, live: AttentionSite) -> None:
        import torch

        self._columns = columns(live)
        block = self._columns
        self._squares = torch.einsum("mkc,mkd->kcd", block, block)  # W_h^T W_h, (K, d, d)
        self._positions = self._examples = 0
        empty = torch.zeros(block.shape[1:], dtype=torch.float64)
        self._sum = self._square = self._example_means = empty  # (K, d) each
        self._norm = empty.sum(-1)  # (K,)

    def add(self, z: Tensor, counts: Tensor) -> None:
        """Add the positions of a batch that count, (T, B), of z, (T, B, K, d)."""
        import torch

        z = z.double() * counts[..., None, None]
        lengths = counts.sum(0)  # (B,)
        self._positions += int(lengths.sum())
        self._examples += int((lengths > 0).sum())
        norms = torch.einsum("tbkc,kcd,tbkd->tbk", z, self._squares, z).clamp(min=0).sqrt()
        means = z.abs().sum(0) / lengths.clamp(min=1)[:, None, None]  # (B, K, d)
        self._norm = self._norm + norms.sum((0, 1)).cpu()
        self._sum = self._sum + z.sum((0, 1)).cpu()
        self._square = self._square + z.square().sum((0, 1)).cpu()
        self._example_means = self._example_means + means.square().sum(0).cpu()

    def scores(self, here: Tensor) -> Tensor:
        """Return the scores by criterion and remaining head, (criteria, K); `here` (K,) are those not masked."""
        import torch

        block = self._columns.cpu()  # (D, K, d)
        positions = max(self._positions, 1)
        square = self._square / positions
        variance = square - (self._sum / positions).square()
        fluctuation = (variance * block.square().sum(0)).square()  # (K, d)
        own = fluctuation[here]
        spread = own.std() if own.numel() > 1 else torch.zeros(())
        standard = (fluctuation - own.mean()) / spread if spread > 0 else torch.zeros_like(fluctuation)
        return torch.stack(
            [
                self._norm / positions,
                standard.mean(-1),
                (block.abs().mean(0) * square.sqrt()).sum(-1),
                (self._example_means.sum(-1) / max(self._examples, 1)).sqrt(),
            ]
        )


CRITERIA = tuple(
    Criterion(name, "forward", False, source, COMPARED, score=activation_scores) for name, source in SOURCES.items()
)
