"""The size of a head's weights: no example is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion
from headroom.methods.criteria.activation import columns

if TYPE_CHECKING:
    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel


def magnitude_scores(
    model: HeadModel,
    batches: Iterable[Batch],  # noqa: ARG001
    removed: Collection[Head] = (),
    *,
    half: int | None = None,  # noqa: ARG001
) -> dict[str, dict[Head, float]]:
    """Return the l2 norm of all weights of every head; zero for removed heads.

    These are the rows of all its input projections, W_Q, W_K and W_V (of learned queries only these rows; of DeBERTa v2
    also those of positions), and the columns of W_O. Biases do not count. Examples have no effect.

    >>> scores = magnitude_scores(model, [])["magnitude"]
    >>> print(max(scores, key=scores.get), round(max(scores.values()), 2))
    E2:4 5.09
    """
    scores = {head: 0.0 for site in model.sites for head in site.head_names()}
    for live in (live for live in model.live_sites if live.kept):
        squares = columns(live).square().sum((0, 2))  # (K,)
        for projection in live.inputs:
            squares = squares + live.head_weights(projection).double().square().sum((1, 2))
        norms = zip(live.kept_heads(), squares.sqrt().tolist())
        scores |= {head: norm for head, norm in norms if head not in removed}
    return {"magnitude": scores}


CRITERIA = (Criterion("magnitude", "none", False, "the l2 norm of weights", COMPARED, score=magnitude_scores),)
