"""Optimal brain surgeon on the output projection: which head a site's output can do without if the others adapt.

With H the second moments of z over positions without padding, plus 1 % of the mean of its diagonal on the diagonal, and
W the output projection, removing the features S of a head and changing the other columns of W to their best costs

    tr(W_S ((H^-1)_SS)^-1 W_S^T)

in squared error of the site's output. The head of least cost is removed first; W and H^-1 are updated, and the others
are scored again (ZipLM, Kurtic et al. 2023). A head's score is the sum of the costs until it is removed, which is the
error of the repaired site without all of these heads, as a share of E |W z|^2, so that sites compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from headroom.core.heads import Head, Site
from headroom.methods.criteria import COMPARED, Criterion
from headroom.methods.criteria.activation import columns, watch
from headroom.methods.criteria.gradient import of_heads, place_kept

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

DAMPING = 0.01
"""Added to the diagonal of the second moments, as a share of its mean."""


def obs_scores(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads in one forward pass without labels; arguments and removed heads as in `gradient_scores`.

    >>> scores = obs_scores(model, batches)["obs"]
    >>> print(min(scores, key=scores.get))
    E2:1
    """
    import torch

    moments: dict[Site, Tensor] = {}
    positions: dict[Site, int] = {}

    def add(site: Site, z: Tensor, counts: Tensor) -> None:
        rows = z[counts].flatten(1).double()  # (N, K * d)
        moments[site] = moments.get(site, torch.zeros(()).to(rows)) + rows.T @ rows
        positions[site] = positions.get(site, 0) + len(rows)

    watch(model, batches, removed, half, add)
    found: dict[Site, Tensor] = {}
    for live in model.live_sites:
        own = torch.zeros(len(live.kept), dtype=torch.float64)
        here = [place for place, head in enumerate(live.kept_heads()) if head not in removed]
        if here:
            width, matrix = live.head_width, moments[live.site] / positions[live.site]
            features = torch.cat([torch.arange(width) + width * place for place in here]).to(matrix.device)
            own[here] = eliminate(columns(live)[:, here], matrix[features][:, features]).cpu()
        found[live.site] = place_kept(own, live.kept, live.site.heads)
    return {"obs": of_heads(found)}


def eliminate(weight: Tensor, moments: Tensor) -> Tensor:
    """Return the share of a site's squared output that is lost when each head goes, (K,); 0 for a site without output.

    Args:
        weight: Columns of the output projection, (D, K, d), in float64.
        moments: E z z^T, (K * d, K * d).
    """
    import torch

    heads, width = weight.shape[1:]
    scores = weight.new_zeros(heads)
    now = weight.flatten(1)  # (D, K * d)
    whole = float(((now @ moments) * now).sum())
    if whole <= 0:
        return scores
    damped = moments + DAMPING * moments.diagonal().mean() * torch.eye(len(moments)).to(moments)
    inverse = torch.linalg.inv(damped)
    lost, left = 0.0, list(range(heads))
    while left:
        blocks = torch.stack([inverse[head * width :, head * width :][:width, :width] for head in left])  # (L, d, d)
        own = now.unflatten(1, (heads, width))[:, left].permute(1, 2, 0)  # (L, d, D)
        costs = (own * torch.linalg.solve(blocks, own)).sum((1, 2))  # (L,)
        least = int(costs.argmin())
        head = left.pop(least)
        lost += max(float(costs[least]), 0.0)
        scores[head] = lost / whole
        features = slice(head * width, (head + 1) * width)
        shared = torch.linalg.solve(blocks[least], inverse[features])  # (d, K * d)
        now = now - now[:, features] @ shared
        inverse = inverse - inverse[:, features] @ shared
    return scores


CRITERIA = (Criterion("obs", "forward", False, "ZipLM (Kurtic et al. 2023)", COMPARED, score=obs_scores),)
