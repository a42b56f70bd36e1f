"""The sites of a Transformer of fairseq, open to hooks and known to the optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.fairseq.attention import fuse
from headroom.engines.sites import AttentionSite, EmptyAttention

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder, TransformerEncoder, TransformerModel

_TAG = "headroom_site"
PROJECTIONS = ("q_proj", "k_proj", "v_proj")


class EmptyAttentionWithCache(EmptyAttention):
    """A site without heads, whose cache decoder layers request."""

    def _get_input_buffer(self, _: object) -> dict[str, object]:
        """Return an empty cache."""
        return {}


def find_sites(model: TransformerModel) -> list[AttentionSite]:
    """Return the sites of a fairseq Transformer in table order: E, A, D; layer by layer."""
    wanted = [
        ("E", model.encoder, "self_attn"),
        ("A", model.decoder, "encoder_attn"),
        ("D", model.decoder, "self_attn"),
    ]
    return [site for kind, stack, attribute in wanted for site in _stack_sites(kind, stack, attribute)]


def _stack_sites(kind: str, stack: TransformerEncoder | TransformerDecoder, attribute: str) -> Iterator[AttentionSite]:
    for layer, parent in enumerate(stack.layers, start=1):
        heads = getattr(parent, attribute).num_heads
        yield AttentionSite(
            site=Site(kind, layer, heads),
            parent=parent,
            attribute=attribute,
            queries="q_proj",
            keys="k_proj",
            values="v_proj",
            output_place=f"{attribute}.out_proj",
            head_counts=("num_heads",),
            head_widths=("embed_dim",),
            kept=tuple(range(1, heads + 1)),
            empty=EmptyAttentionWithCache,
        )


def open_sites(model: nn.Module) -> None:
    """Make every site of a fairseq Transformer call its output projection, and tag its weights.

    Raises:
        HeadroomError: If a site fuses its projections, so that its heads have no separate rows.
    """
    for live in find_sites(model):
        fuse(live.attention)
        for name in PROJECTIONS:
            weight = getattr(getattr(live.attention, name, None), "weight", None)
            if not isinstance(weight, nn.Parameter):
                raise HeadroomError(
                    f"site {live.site}: no {name}.weight, fused projections are not supported; "
                    "use an architecture with separate query, key and value projections"
                )
            setattr(weight, _TAG, live.site)


def find_site(parameter: Tensor) -> Site | None:
    """Return the site whose query, key or value weight a parameter is; None for any other parameter.

    The rows of such a weight are the site's heads, in order and in blocks of equal size.
    """
    return getattr(parameter, _TAG, None)
