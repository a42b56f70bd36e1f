"""The attention sites of fairseq's Transformers, and their attention in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.models.sites import AttentionSite, EmptyAttention
from headroom.training.fairseq import library as _engine  # noqa: F401 (imports fairseq quietly)

from fairseq.modules import MultiheadAttention  # isort: skip

if TYPE_CHECKING:
    from headroom.training.fairseq.library import TransformerDecoder, TransformerEncoder, TransformerModel

_TAG = "headroom_site"
PROJECTIONS = ("q_proj", "k_proj", "v_proj")


class EmptyAttentionWithCache(EmptyAttention):
    """A site without heads, whose cache decoder layers request."""

    def _get_input_buffer(self, _: object) -> dict[str, object]:
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


_LANES = 16  # floats of a vector register of the widest processors
_SHORT = 64  # keys up to which the parts of attention are faster than the fused kernel


class FusedAttention(MultiheadAttention):
    """fairseq's attention without weights as an output; padded queries may attend to padding: no loss counts them."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> tuple[Tensor, Tensor | None]:
        """Attend; (T, B, width) and (S, B, width) to (T, B, width). See fairseq's class."""
        if options.get("incremental_state") is not None:  # a search
            attended: tuple[Tensor, Tensor | None] = super().forward(query, key, value, **options)
            return attended
        mask = _real(options.get("key_padding_mask"))
        causal = options.get("attn_mask") is not None  # fairseq's only mask
        queries, keys, values = map(self._by_head, (self.q_proj(query), self.k_proj(key), self.v_proj(key)))
        dropout = self.dropout_module.p if self.training else 0.0
        z = attend(queries, keys, values, mask=None if causal else mask, causal=causal, dropout=dropout)
        return self.out_proj(z.permute(2, 0, 1, 3).flatten(2)), None

    def _by_head(self, projected: Tensor) -> Tensor:
        """Return projected states (T, B, H * d) as (B, H, T, d)."""
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Return softmax(queries keys^T / sqrt(d)) values, (B, H, T, d), for queries (B, H, T, d) of keys (B, H, S, d).

    On a CPU torch's fused kernel takes up to twice as long as its parts for sentences, and its softmax takes several
    times as long per key for fewer than 16 keys, which is why scores are padded.

    Args:
        queries: The queries.
        keys: The keys.
        values: The values, (B, H, S, d).
        mask: Which keys count, at least one for each query, (B, 1, 1, S); None for all.
        causal: Whether a query attends only to keys up to its own position.
        dropout: The probability that a weight is dropped.
    """
    size = keys.shape[2]
    if queries.device.type != "cpu" or size > _SHORT:
        options: dict[str, Any] = {"attn_mask": mask, "dropout_p": dropout, "is_causal": causal}
        fused: Tensor = nn.functional.scaled_dot_product_attention(queries, keys, values, **options)
        return fused
    excluded = queries.new_zeros(())
    if causal:
        excluded = queries.new_full((queries.shape[2], size), -torch.inf).triu_(1)
    elif mask is not None:
        count = mask.expand(-1, queries.shape[1], 1, size).flatten(0, 1)
        excluded = queries.new_zeros(count.shape).masked_fill_(~count, -torch.inf)
    (q, k, v), scale = (states.flatten(0, 1) for states in (queries, keys, values)), queries.shape[-1] ** -0.5
    scores = torch.baddbmm(excluded, q, k.transpose(1, 2), beta=float(excluded.dim() > 0), alpha=scale)  # (B * H, T, S)
    if size < _LANES:
        scores = nn.functional.pad(scores, (0, _LANES - size), value=-torch.inf)
    weights = scores.softmax(-1)[..., :size]
    if dropout:
        weights = nn.functional.dropout(weights, dropout)
    return torch.bmm(weights, v).view(queries.shape)


def fuse(attention: MultiheadAttention) -> None:
    """Let an attention of fairseq use the fused kernel, in place; its weights, also of a checkpoint, are the same."""
    if type(attention) is MultiheadAttention:
        attention.skip_embed_dim_check = True  # otherwise a path without a call of the output projection is taken
        attention.__class__ = FusedAttention


def _real(padding: Tensor | None) -> Tensor | None:
    """Return the mask of keys that count (B, 1, 1, S), from that of padding (B, S)."""
    return None if padding is None else ~padding.bool()[:, None, None]
