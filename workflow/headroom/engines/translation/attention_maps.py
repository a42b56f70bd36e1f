"""Attention maps of every site, seen while a fairseq model runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headroom.core.heads import Site
from headroom.engines.maps import MapObserver, hooked
from headroom.engines.sites import AttentionSite


@contextmanager
def attention_maps(sites: Sequence[AttentionSite], observer: MapObserver) -> Iterator[None]:
    """Show the attention weights of every forward pass within a block to `observer`.

    The weights are those that the model itself multiplies with the values (before dropout, of which
    there is none in eval mode); its outputs do not change. Positions of padding are included: the
    observer knows the batch and leaves them out.

    Args:
        sites: Live sites of a fairseq model; one without heads is passed over.
        observer: Called once per site and forward pass.
    """
    with hooked(sites, _ask_for_heads, lambda site: _shown(site, observer)):
        yield


def _ask_for_heads(_: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return inputs, {**options, "need_head_weights": True}


def _shown(site: Site, observer: MapObserver) -> Callable[[nn.Module, Any, Any], tuple[Tensor, Tensor]]:
    def show(_: nn.Module, __: Any, output: Any) -> tuple[Tensor, Tensor]:
        attended, weights = output  # (T, B, width), (H, B, T, S)
        observer(site, weights.transpose(0, 1))
        return attended, weights.mean(dim=0)  # what fairseq's layers expect: averaged over heads

    return show
