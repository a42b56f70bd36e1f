"""Entropy of attention, in one forward pass, without labels.

The entropy of a head is the mean over queries of - sum over keys of A log A, in nats, with A its attention weights;
only queries that are not padding count. By `attention-entropy` heads with spread attention are important, by
`attention-entropy-inverse`, its negative, those with sharp attention, as by `confidence`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from headroom.core.heads import Head, Site
from headroom.methods.criteria import COMPARED, Criterion
from headroom.methods.criteria.gradient import build_rows, of_heads, place_kept

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel


def entropy_scores(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads; arguments and removed heads as in `gradient_scores`, the model is loaded for its maps.

    >>> entropy = entropy_scores(model, batches)["attention-entropy"]  # in nats
    >>> print(min(entropy, key=entropy.get), round(min(entropy.values()), 2))
    E1:4 1.41
    """
    import torch

    sums = {live.site: torch.zeros(len(live.kept), dtype=torch.float64) for live in model.live_sites}
    queries = dict.fromkeys(sums, 0)
    for batch in batches:
        if not (rows := build_rows(batch, half)):
            continue
        real = model.real(batch)

        def add(site: Site, weights: Tensor, real: Any = real, rows: list[int] = rows) -> None:
            counts = real[site.kind][0][rows]  # (B, T)
            entropies = torch.special.entr(weights[rows].double()).sum(-1)  # (B, H, T)
            sums[site] += (entropies * counts[:, None]).sum((0, 2)).cpu()
            queries[site] += int(counts.sum())

        with torch.inference_mode(), model.gates.masked(removed), model.maps_shown(add):
            model.logits(batch)
    found: dict[Site, Tensor] = {}
    for live in model.live_sites:
        here = torch.tensor([head not in removed for head in live.kept_heads()], dtype=torch.float64)
        found[live.site] = place_kept(here * sums[live.site] / max(queries[live.site], 1), live.kept, live.site.heads)
    entropy = of_heads(found)
    return {"attention-entropy": entropy, "attention-entropy-inverse": {head: -own for head, own in entropy.items()}}


CRITERIA = tuple(
    Criterion(
        name,
        "forward",
        False,
        "Greedy-Gnorm (arXiv 2602.04491), baseline",
        COMPARED,
        score=entropy_scores,
        maps=True,
    )
    for name in ("attention-entropy", "attention-entropy-inverse")
)
