"""Values as every engine computes them: what attention weights average."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from headroom.ground.heads import Site
from headroom.models.sites import AttentionSite

ValueObserver = Callable[[Site, Tensor], None]
"""Called with a site and its values, shape (S, B, H, d)."""


def has_values(live: AttentionSite) -> bool:
    """Return whether a site has heads and a projection that makes values for them; some average the same for all."""
    return len(live.inputs) > 2 and bool(live.kept)


@contextmanager
def shown_values(sites: Sequence[AttentionSite], observer: ValueObserver, *, batch_first: bool) -> Iterator[None]:
    """Show the values of every site to `observer` within a block.

    Args:
        sites: Live sites; one without values is passed over.
        observer: Called once per site and forward pass. Positions of padding are included.
        batch_first: Whether the engine has (B, S, ...) rather than (S, B, ...).
    """

    def hook(live: AttentionSite) -> Callable[[nn.Module, Any, Tensor], None]:
        def show(_: nn.Module, __: Any, values: Tensor) -> None:
            split = values.unflatten(-1, (len(live.kept), -1))
            observer(live.site, split.transpose(0, 1) if batch_first else split)

        return show

    with ExitStack() as hooks:
        for live in filter(has_values, sites):
            hooks.callback(live.value.register_forward_hook(hook(live)).remove)
        yield
