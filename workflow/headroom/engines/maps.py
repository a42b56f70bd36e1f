"""Attention maps and values of all engines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.sites import AttentionSite

Positions = Mapping[str, tuple[Tensor, Tensor]]
"""By kind of site, which query (B, T) and which key positions (B, S) of a batch count, e.g. all but padding."""

MapObserver = Callable[[Site, Tensor], None]
"""Called with a site and its attention weights, shape (B, H, T, S): rows are queries and sum to one."""


@contextmanager
def hook_sites(
    sites: Sequence[AttentionSite], ask: Callable[..., object], shown: Callable[[Site], Callable[..., object]]
) -> Iterator[None]:
    """Hook the attention modules of sites that have heads, within a block.

    Args:
        sites: Live sites.
        ask: Forward pre-hook, which requests weights in the engine's way.
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
    """A batch whose attention maps can be observed.

    Attributes:
        positions: Indices into the set, in the order of the rows.
        reads: The kind of the sites that read the pieces: the encoder's, or those of a decoder alone.
        ordinary: Neither padding nor a piece with a special meaning (end of sentence, begin mark, CLS, SEP).
        real: Not padding; only these are part of an example, and all of them affect the output.
        pieces: The encoder's input as indices of the vocabulary, (B, T).
        spans: Start and end of each of these pieces in the plain text, in characters from 0, (B, T, 2), -1 for
            those that do not count; None if the examples are not single sentences.
        uses: How often each site runs in a pass; those that run several times are shown as often.
        show: Runs the model once and shows the maps of every site that runs.
    """

    positions: list[int]
    reads: str
    ordinary: Positions
    real: Positions
    pieces: Tensor
    spans: Tensor | None
    uses: Mapping[Site, int]
    show: Callable[[MapObserver], None]


Spans = Sequence[tuple[int, int]]
"""Start and end of the pieces of a sentence in the plain text, in characters from 0."""


def pad_spans(rows: Sequence[Spans], ordinary: Tensor) -> Tensor:
    """Return the spans of pieces as one tensor (B, T, 2) on the CPU, -1 for pieces that do not count.

    Args:
        rows: The spans of those pieces of each row that count, in order.
        ordinary: Which positions count, (B, T).

    Raises:
        HeadroomError: If the numbers of counting pieces differ in a row.
    """
    spans = torch.full((*ordinary.shape, 2), -1)
    for row, places in enumerate(rows):
        if len(places) != int(ordinary[row].sum()):
            raise HeadroomError(
                f"text: {len(places)} aligned pieces, but the model reads {int(ordinary[row].sum())}; "
                "remove special pieces such as </s> from the text"
            )
        spans[row, ordinary[row].cpu()] = torch.tensor(places, dtype=torch.long).reshape(-1, 2)
    return spans


ValueObserver = Callable[[Site, Tensor], None]
"""Called with a site and its values, shape (S, B, H, d)."""


@contextmanager
def shown_values(sites: Sequence[AttentionSite], observer: ValueObserver) -> Iterator[None]:
    """Show the values of every site with values to `observer` within a block, padding included."""

    def hook(live: AttentionSite) -> Callable[[nn.Module, object, Tensor], None]:
        def show(_: nn.Module, __: object, values: Tensor) -> None:
            observer(live.site, live.split_values(values).transpose(0, 1))

        return show

    with ExitStack() as hooks:
        for live in (live for live in sites if live.has_values):
            hooks.callback(live.value.register_forward_hook(hook(live)).remove)
        yield
