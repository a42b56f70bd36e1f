"""Losses of a model under many gates on its heads: masks times examples are the rows of one batch."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.heads import Head, Site, all_heads, check_heads
from headroom.models.batch import Batch
from headroom.models.head_model import HeadModel, take_rows
from headroom.models.reusable import Reusable, trace_reusable

ROWS = 512
"""Most rows of a batch without gradients, unless a single mask has more examples."""

SIMILAR = 8
"""Examples of similar length in a batch, before it is repeated under masks: SST-2 has 1.6 times as many positions as
tokens in batches of 32, and 1.1 times as many in batches of 8."""


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


def list_examples(batches: Iterable[Batch], *, half: int | None = None, limit: int | None = None) -> list[Batch]:
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
        batch if len(own) == len(batch.positions) else take_rows(batch, own) for batch, own in zip(batches, rows) if own
    ]


def build_gates(values: Tensor, heads: Sequence[Head], sites: Iterable[Site]) -> dict[Site, Tensor]:
    """Return gates (..., N) of heads by site, (..., H) each; 0 for other heads. Differentiable in the gates."""
    places = {head: place for place, head in enumerate(heads)}
    padded = torch.cat([values, values.new_zeros(*values.shape[:-1], 1)], dim=-1)  # (..., N + 1): the last is closed
    return {site: padded[..., [places.get(head, len(heads)) for head in site.head_names()]] for site in sites}


@contextmanager
def set_gates(model: HeadModel, values: Tensor, heads: Sequence[Head]) -> Iterator[None]:
    """Set gates (N,) of heads, or (B, N) with a row per example, within a block; all other heads are closed."""
    weight = next(model.model.parameters())
    model.gates.set(build_gates(values.to(weight), heads, model.sites))
    try:
        yield
    finally:
        model.gates.clear()


class MaskedLosses:
    """The mean loss of the examples of batches under masks, many of them in one forward pass."""

    def __init__(self, model: HeadModel, batches: Sequence[Batch], heads: Sequence[Head]) -> None:
        """Store a model in eval mode, batches with references of at least one example, and the N heads of masks.

        All other heads are closed.
        """
        self._model, self._heads = model, heads
        self._batches = [part for batch in batches for part in model.parts(batch, SIMILAR)]

    @cached_property
    def _reusable(self) -> Reusable:
        return trace_reusable(self._model, lambda batch: self._model.losses(batch)[0], self._batches[-1])

    @torch.no_grad()
    def mean(self, kept: Tensor, base: Tensor | None = None) -> Tensor:
        """Return the mean loss under each of M masks, in nats, (M,), float64 on the CPU.

        Passes have masks times examples as rows, about `ROWS` at once.

        Args:
            kept: The masks, 1 for an open head and 0 for a removed one, (M, N).
            base: A mask (N,) that they equal in their lower layers: what they share with it is computed once.
        """
        sums = torch.zeros(len(kept), dtype=torch.float64)
        groups = self._groups(kept, base)
        for batch in self._batches:
            stored = self._states(batch, base)
            at_once = max(1, ROWS // len(batch.positions))
            for first, places in groups:
                for start in range(0, len(places), at_once):
                    chosen = places[start : start + at_once]
                    sums[chosen] += self._sums(batch, kept[chosen], first, stored)
        return sums / sum(len(batch.positions) for batch in self._batches)

    def _groups(self, kept: Tensor, base: Tensor | None) -> list[tuple[Site | None, list[int]]]:
        """Return the positions of masks by the first site at which they differ from the base, None without reuse."""
        if base is None:
            return [(None, list(range(len(kept))))]
        groups: dict[Site | None, list[int]] = {}
        for place, different in enumerate((kept != base).tolist()):
            changed = {(head.kind, head.layer) for head, differs in zip(self._heads, different) if differs}
            first = next((site for site in self._reusable.modules if (site.kind, site.layer) in changed), None)
            groups.setdefault(first, []).append(place)
        return list(groups.items())

    def _states(self, batch: Batch, base: Tensor | None) -> dict[nn.Module, Any]:
        """Return the states of a batch that can be reused, under the base."""
        stored: dict[nn.Module, Any] = {}
        if base is not None and self._reusable.modules:
            with set_gates(self._model, base, self._heads), self._reusable.reused(None, stored, store=True):
                self._model.losses(batch)
        return stored

    def _sums(self, batch: Batch, kept: Tensor, first: Site | None, stored: dict[nn.Module, Any]) -> Tensor:
        """Return the summed loss of a batch under masks (M, N), which share what precedes a site, (M,)."""
        examples, masks = len(batch.positions), len(kept)
        rows = take_rows(batch, list(range(examples)) * masks)
        with ExitStack() as within:
            within.enter_context(set_gates(self._model, kept.repeat_interleave(examples, 0), self._heads))
            if first:
                within.enter_context(self._reusable.reused(first, stored, times=masks))
            losses = self._model.losses(rows)[0]  # (M * B,)
        return losses.double().cpu().view(masks, examples).sum(1)
