"""The sites of a fairseq Transformer."""

from collections.abc import Iterator
from typing import Any

from headroom.ground.heads import Site
from headroom.models.sites import AttentionSite


def find_sites(model: Any) -> list[AttentionSite]:
    """Return the sites of a fairseq Transformer in table order: E, A, D; layer by layer."""
    wanted = [
        ("E", model.encoder, "self_attn"),
        ("A", model.decoder, "encoder_attn"),
        ("D", model.decoder, "self_attn"),
    ]
    return [site for kind, stack, attribute in wanted for site in _stack_sites(kind, stack, attribute)]


def _stack_sites(kind: str, stack: Any, attribute: str) -> Iterator[AttentionSite]:
    for layer, parent in enumerate(stack.layers, start=1):
        heads = getattr(parent, attribute).num_heads
        yield AttentionSite(
            site=Site(kind, layer, heads),
            parent=parent,
            attribute=attribute,
            inputs=("q_proj", "k_proj", "v_proj"),
            output_place=f"{attribute}.out_proj",
            head_counts=("num_heads",),
            head_widths=("embed_dim",),
            kept=tuple(range(1, heads + 1)),
        )
