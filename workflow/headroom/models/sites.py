"""Attention sites inside a model: where z is, and the projections around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from headroom.ground.heads import Head, Site

_FAIRSEQ_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


@dataclass
class AttentionSite:
    """One site of a live model.

    Attributes:
        site: Its name and the number of heads it was trained with.
        parent: The layer that holds the attention module.
        attribute: The name under which the layer holds it, e.g. `self_attn`.
        projections: Names of the query, key, value and output projection inside the attention module.
        kept: The heads still there, counted from 1 and in order; all of them unless some were removed.
    """

    site: Site
    parent: nn.Module
    attribute: str
    projections: tuple[str, str, str, str]
    kept: tuple[int, ...]

    @property
    def attention(self) -> nn.Module:
        """The attention module."""
        return getattr(self.parent, self.attribute)

    @property
    def output(self) -> nn.Module:
        """The output projection, whose input is z; the only place where this project intervenes."""
        return getattr(self.attention, self.projections[3])

    def kept_heads(self) -> list[Head]:
        """Return the heads still there, by their original names."""
        return [Head(self.site.kind, self.site.layer, index) for index in self.kept]


def site_names(sites: Sequence[AttentionSite]) -> list[Site]:
    """Return the names of live sites."""
    return [live.site for live in sites]


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
        site = Site(kind, layer, heads)
        yield AttentionSite(site, parent, attribute, _FAIRSEQ_PROJECTIONS, tuple(range(1, heads + 1)))
