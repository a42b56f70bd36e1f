"""Attention maps of every site, seen while a model of transformers runs."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.maps import MapObserver, hooked
from headroom.engines.sites import AttentionSite

_ASKING = "output_attentions"
"""What some families' attention modules must be told before they return weights; others always do."""


@contextmanager
def attention_maps(sites: Sequence[AttentionSite], observer: MapObserver) -> Iterator[None]:
    """Show the attention weights of every forward pass within a block to `observer`.

    The weights are those that the model itself multiplies with the values (in eval mode, where nothing is dropped);
    its outputs do not change. Positions of padding are included: the observer knows the batch and leaves them out.

    Args:
        sites: Live sites of a model loaded with `attention="eager"`; one without heads is passed over.
        observer: Called once per site and forward pass. Hops attend once per example: their weights are (B, H, 1, T).
    """
    with hooked(sites, _ask_for_weights, lambda site: _shown(site, observer)):
        yield


def _ask_for_weights(module: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    taken = inspect.signature(module.forward)
    if _ASKING not in taken.parameters:
        return None
    given = taken.bind(*inputs, **options)
    given.arguments[_ASKING] = True
    return given.args, given.kwargs


def _shown(site: Site, observer: MapObserver) -> Callable[[nn.Module, Any, Any], None]:
    def show(module: nn.Module, _: Any, output: Any) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if not isinstance(weights, Tensor) or weights.dim() != 4:
            raise HeadroomError(
                f"{type(module).__name__} does not return its attention weights (site {site}), so where its heads "
                "point cannot be seen"
            )
        observer(site, weights)  # (B, H, T, T) or, of hops, (B, H, 1, T)

    return show
