"""Losses of a model under many gates on its heads: masks times examples are the rows of one batch."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from headroom.core.heads import Head, Site, all_heads, check_heads
from headroom.engines.head_model import HeadModel

ROWS = 512
"""Most rows of a batch without gradients, unless a single mask has more examples."""


def open_heads(model: HeadModel, removed: Collection[Head] = ()) -> list[Head]:
    """Return the heads that are neither sliced out of a model nor in `removed`, in table order.

    Raises:
        HeadroomError: If the model has no such head.
    """
    check_heads(removed, model.sites)
    return sorted(head for live in model.live_sites for head in live.kept_heads() if head not in removed)


def all_scores(model: HeadModel, heads: Sequence[Head], values: Iterable[float]) -> dict[Head, float]:
    """Return the values of heads, and 0 for the other heads that the model was trained with."""
    return dict.fromkeys(all_heads(model.sites), 0.0) | dict(zip(heads, values, strict=True))


def taken(batch: Any, rows: Sequence[int]) -> Any:
    """Return some rows of an engine's batch, in this order and as often as they are named; padding is unchanged."""
    return replace(batch, **{field.name: _taken(getattr(batch, field.name), rows) for field in fields(batch)})


def _taken(value: Any, rows: Sequence[int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _taken(one, rows) for name, one in value.items()}
    if isinstance(value, Tensor):
        return value[torch.as_tensor(rows, device=value.device)]
    return None if value is None else [value[row] for row in rows]


def examples_of(batches: Iterable[Any], *, half: int | None = None, limit: int | None = None) -> list[Any]:
    """Return batches with only some of their examples; empty batches are left out.

    Args:
        batches: Batches of a set, in any order.
        half: 0 or 1 for the examples at even or odd positions of the set, None for all.
        limit: The number of these to use, from the start of the set; None for all.
    """
    batches = list(batches)
    places = sorted(place for batch in batches for place in batch.positions if half is None or place % 2 == half)
    wanted = set(places[:limit])
    rows = [[row for row, place in enumerate(batch.positions) if place in wanted] for batch in batches]
    return [
        batch if len(own) == len(batch.positions) else taken(batch, own) for batch, own in zip(batches, rows) if own
    ]


def gates_of(values: Tensor, heads: Sequence[Head], sites: Iterable[Site]) -> dict[Site, Tensor]:
    """Return gates (..., N) of heads by site, (..., H) each; 0 for other heads. Differentiable in the gates."""
    places = {head: place for place, head in enumerate(heads)}
    padded = torch.cat([values, values.new_zeros(*values.shape[:-1], 1)], dim=-1)  # (..., N + 1): the last is closed
    return {site: padded[..., [places.get(head, len(heads)) for head in site.head_names()]] for site in sites}


@contextmanager
def gated(model: HeadModel, values: Tensor, heads: Sequence[Head]) -> Iterator[None]:
    """Set gates (N,) of heads, or (B, N) with a row per example, within a block; all other heads are closed."""
    weight = next(model.model.parameters())
    model.gates.set(gates_of(values.to(weight), heads, model.sites))
    try:
        yield
    finally:
        model.gates.clear()


@torch.no_grad()
def mean_losses(model: HeadModel, batches: Sequence[Any], kept: Tensor, heads: Sequence[Head]) -> Tensor:
    """Return the mean loss of the examples of batches under each of M masks, in nats, (M,), float64 on the CPU.

    One forward pass of as many rows as masks times examples, in batches of about `ROWS` rows.

    Args:
        model: A model in eval mode.
        batches: Batches with references, of at least one example.
        kept: The masks, 1 for an open head and 0 for a removed one, (M, N).
        heads: Their N heads; all others are closed.
    """
    sums = torch.zeros(len(kept), dtype=torch.float64)
    for batch in batches:
        examples = len(batch.positions)
        at_once = max(1, ROWS // examples)
        for start in range(0, len(kept), at_once):
            masks = kept[start : start + at_once]
            rows = taken(batch, list(range(examples)) * len(masks))
            with gated(model, masks.repeat_interleave(examples, 0), heads):
                losses = model.losses(rows)[0]  # (masks * B,)
            sums[start : start + at_once] += losses.double().cpu().view(len(masks), examples).sum(1)
    return sums / sum(len(batch.positions) for batch in batches)
