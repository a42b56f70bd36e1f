"""Attention maps as every engine shows them, and what a batch must tell of itself so that they can be read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Site
from headroom.models.sites import AttentionSite

MapObserver = Callable[[Site, Tensor], None]
"""Called with a site and its attention weights, shape (B, H, T, S): rows are queries and sum to one."""


@contextmanager
def hooked(
    sites: Sequence[AttentionSite], ask: Callable[..., Any], shown: Callable[[Site], Callable[..., Any]]
) -> Iterator[None]:
    """Let attention modules be asked for their weights, and the weights be taken from them, within a block.

    Args:
        sites: Live sites; one without heads is passed over.
        ask: Forward pre-hook, which asks for weights in the engine's way.
        shown: From a site to its forward hook, which takes the weights from what the module returns.
    """
    with ExitStack() as hooks:
        for live in sites:
            if live.kept:
                hooks.callback(live.attention.register_forward_pre_hook(ask, with_kwargs=True).remove)
                hooks.callback(live.attention.register_forward_hook(shown(live.site)).remove)
        yield


@dataclass(frozen=True)
class MapBatch:
    """A batch whose attention maps can be looked at.

    Attributes:
        positions: Indices into the set, in the order of the rows.
        ordinary: By kind of site, which query (B, T) and which key positions (B, S) count: neither padding nor a piece
            with a special meaning (end of sentence, begin mark, CLS, SEP).
        real: By kind of site, which query (B, T) and which key positions (B, S) are not padding; only these are part of
            an example, and all that are shape what the model says.
        batch_first: Whether what projections of the model return is (B, T, ...) rather than (T, B, ...).
        pieces: What the encoder reads, as indices of the vocabulary, (B, T).
        spans: Where each of these pieces begins and ends in the plain text, in characters from 0, (B, T, 2), -1 for
            those that do not count; None if the examples are not single sentences.
        show: Runs the model once and shows the maps of every site that runs.
    """

    positions: list[int]
    ordinary: Mapping[str, tuple[Tensor, Tensor]]
    real: Mapping[str, tuple[Tensor, Tensor]]
    batch_first: bool
    pieces: Tensor
    spans: Tensor | None
    show: Callable[[MapObserver], None]


def padded_spans(rows: Sequence[Sequence[tuple[int, int]]], ordinary: Tensor) -> Tensor:
    """Return the spans of pieces as one tensor.

    Args:
        rows: The spans of those pieces of each row that count, in order.
        ordinary: Which positions count, (B, T).

    Returns:
        (B, T, 2), on the CPU; -1 for the others.

    Raises:
        HeadroomError: If a row has another number of pieces that count.
    """
    spans = torch.full((*ordinary.shape, 2), -1)
    for row, places in enumerate(rows):
        if len(places) != int(ordinary[row].sum()):
            raise HeadroomError(
                f"{len(places)} pieces have a place in their sentence, but the model reads {int(ordinary[row].sum())}: "
                "does the text contain pieces with a special meaning, such as </s>?"
            )
        spans[row, ordinary[row].cpu()] = torch.tensor(places, dtype=torch.long).reshape(-1, 2)
    return spans
