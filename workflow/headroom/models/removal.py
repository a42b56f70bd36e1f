"""Real removal: slicing heads out of the projections around z."""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headroom.ground.heads import Head, check_heads
from headroom.models.sites import AttentionSite, site_names


class EmptyAttention(nn.Module):
    """A site with no head left: what remains of it is the bias of its output projection."""

    def __init__(self, *, bias: Tensor) -> None:
        super().__init__()
        self.bias = nn.Parameter(bias.detach().clone())

    def forward(self, query: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        """Return the bias at every position of `query` (T, B, D), and no attention weights."""
        return self.bias.expand(query.shape), None

    def _get_input_buffer(self, _: Any) -> dict[str, Any]:
        """Return nothing cached: fairseq's decoder layers ask every self-attention for its cache."""
        return {}


def remove_heads(sites: Sequence[AttentionSite], removed: Collection[Head]) -> None:
    """Slice heads out of a live model, in place.

    Rows of the query, key and value projections and columns of the output projection go; the output
    bias stays, so that the sliced model computes what the masked one does. A site may lose all heads.

    Args:
        sites: The model's sites; their `kept` is updated.
        removed: Heads by their original names; those already gone are passed over.

    Raises:
        HeadroomError: If the model has no such head.
    """
    check_heads(removed, site_names(sites))
    for live in sites:
        keep = [index for index in live.kept if Head(live.site.kind, live.site.layer, index) not in removed]
        if len(keep) < len(live.kept):
            _slice(live, keep)


def _slice(live: AttentionSite, keep: list[int]) -> None:
    attention: Any = live.attention
    if not keep:
        setattr(live.parent, live.attribute, EmptyAttention(bias=attention.get_submodule(live.projections[3]).bias))
        live.kept = ()
        return
    width = int(attention.head_dim)
    places = [live.kept.index(index) for index in keep]
    units = torch.cat([torch.arange(place * width, (place + 1) * width) for place in places])
    for name in live.projections[:3]:
        setattr(attention, name, _sliced(getattr(attention, name), units, dimension=0))
    setattr(attention, live.projections[3], _sliced(live.output, units, dimension=1))
    attention.num_heads = len(keep)
    attention.embed_dim = len(keep) * width
    live.kept = tuple(keep)


def _sliced(linear: Any, units: Tensor, *, dimension: int) -> nn.Linear:
    """Return a linear layer with only these output rows (0) or input columns (1); hooks move along."""
    units = units.to(linear.weight.device)
    weight = linear.weight.detach().index_select(dimension, units)
    has_bias = linear.bias is not None
    new = nn.Linear(weight.shape[1], weight.shape[0], bias=has_bias, device=weight.device, dtype=weight.dtype)
    new.weight = nn.Parameter(weight)
    if has_bias:
        bias = linear.bias.detach()
        new.bias = nn.Parameter(bias.index_select(0, units) if dimension == 0 else bias.clone())
    new._forward_pre_hooks = linear._forward_pre_hooks
    return new.train(linear.training)
