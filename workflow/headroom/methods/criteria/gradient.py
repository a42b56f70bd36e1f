"""Gradient importance (Michel et al. 2019, Eq. 2), in four granularities from one forward and one backward pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from headroom.core.heads import Head
from headroom.methods.criteria import Criterion, Scores

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel


def score(
    model: HeadModel, batches: Iterable[Any], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, Scores]:
    """Score all heads; see `headroom.methods.importance.gradient_scores`."""
    from headroom.methods.importance import gradient_scores

    return dict(gradient_scores(model, batches, removed, half=half))


CRITERIA = tuple(
    Criterion(
        name=name,
        needs="backward",
        labels=True,
        source=source,
        score=score,
        compared=name in ("gradient-token", "gradient-example"),
    )
    for name, source in (
        ("gradient-token", "code of Michel et al. 2019"),
        ("gradient-example", "Michel et al. 2019, Eq. 2"),
        ("gradient-batch", "Michel et al. 2019, Eq. 2, with the absolute value over a batch"),
        ("gradient-squared", "diagonal of the Fisher matrix"),
    )
)
