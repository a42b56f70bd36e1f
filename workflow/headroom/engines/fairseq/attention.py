"""The attention of fairseq's Transformers by torch's fused kernel, and the cache of greedy decoding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headroom.engines.fairseq import library as _engine  # noqa: F401 (imports fairseq quietly)

from fairseq.modules import MultiheadAttention  # isort: skip

_STEPS = 16  # a cache grows by so many pieces, or by half
_LANES = 16  # floats of a vector register of the widest processors
_SHORT = 64  # keys up to which the parts of attention are faster than the fused kernel


class Source(dict[str, object]):
    """Keys and values of a batch's sources, computed once; fairseq's layers pass it as their `incremental_state`.

    `Cache` and `Packed` (headroom.engines.fairseq.packed) attend with them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fixed: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def of_source(self, attention: FusedAttention, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values (B, H, S, d) of the source's states (S, B, width)."""
        if attention not in self._fixed:
            keys, values = attention.keys_and_values(states)
            self._fixed[attention] = (keys.contiguous(), values.contiguous())
        return self._fixed[attention]

    def tensors(self) -> list[Tensor]:
        """Return all stored keys and values."""
        return [tensor for pair in self._fixed.values() for tensor in pair]

    def attended(self, attention: FusedAttention, states: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """Return z (T, B, H * d) of a site of the decoder.

        Args:
            attention: The site.
            states: Its input, (T, B, width).
            source: The source's states, (S, B, width), or for a self-attention again its input.
            mask: Which positions of the source count, (B, 1, 1, S); None for all.
        """
        raise NotImplementedError


class Cache(Source):
    """Keys and values of the decoder's sites, for sentences with different numbers of decoded pieces.

    Attributes:
        lengths: The number of pieces of each sentence whose keys and values are known, (B,).
    """

    def __init__(self, lengths: Tensor) -> None:
        super().__init__()
        self.lengths = lengths
        self._longest = int(lengths.max()) if len(lengths) else 0
        self._even = bool((lengths == self._longest).all())
        self._growing: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def attended(self, attention: FusedAttention, states: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """Return z (1, B, H * d) for the next piece of each sentence; see `Source`."""
        if attention.self_attention:
            keys, values = self.append(attention, *attention.keys_and_values(states))
            mask = self.mask()
        else:
            keys, values = self.of_source(attention, source)
        return flat(attend(attention.by_head(attention.q_proj(states)), keys, values, mask=mask))

    def fill(self, attention: nn.Module, keys: Tensor, values: Tensor) -> None:
        """Store the keys and values (B, H, T, d) of a self-attention, of which the first `lengths` are valid."""
        self._growing[attention] = (keys[:, :, : self._longest], values[:, :, : self._longest])

    def append(self, attention: nn.Module, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of the next piece of each sentence, (B, H, 1, d); return all of them, (B, H, T, d)."""
        old = self._growing.get(attention, (keys[:, :, :0], values[:, :, :0]))
        stored = self._growing[attention] = (self._with_room(old[0]), self._with_room(old[1]))
        for whole, new in zip(stored, (keys, values)):
            if self._even:
                whole[:, :, self._longest] = new[:, :, 0]
            else:
                whole[torch.arange(len(whole), device=whole.device), :, self.lengths] = new[:, :, 0]
        return stored[0][:, :, : self._longest + 1], stored[1][:, :, : self._longest + 1]

    def mask(self) -> Tensor | None:
        """Return which of the stored positions count for the next piece, (B, 1, 1, T); None if all do."""
        if self._even:
            return None
        places = torch.arange(self._longest + 1, device=self.lengths.device)
        return (places <= self.lengths[:, None])[:, None, None]

    def advance(self) -> None:
        """Count the piece that was appended at every site."""
        self.lengths = self.lengths + 1
        self._longest += 1

    def keep(self, rows: Tensor) -> None:
        """Keep only some of the sentences, (K,)."""
        self.lengths = self.lengths[rows]
        self._longest = int(self.lengths.max())
        self._even = bool((self.lengths == self._longest).all())
        for stored in (self._growing, self._fixed):
            for attention, (keys, values) in stored.items():
                stored[attention] = (keys[rows], values[rows])

    def _with_room(self, stored: Tensor) -> Tensor:
        """Return stored keys or values with room for one more piece."""
        needed = self._longest + 1
        if stored.shape[2] >= needed:
            return stored
        more = needed + max(_STEPS, needed // 2) - stored.shape[2]
        return nn.functional.pad(stored, (0, 0, 0, more))


class FusedAttention(MultiheadAttention):
    """fairseq's attention without weights as an output, by `scaled_dot_product_attention`.

    Padded queries of the decoder may attend to padding: their outputs are never used. If the weights are observed
    (`attention_maps`), and in beam search, whose cache is a plain dictionary, it computes as fairseq does.
    """

    _observed = 0
    _known: Tensor | None = None

    @contextmanager
    def knowing(self, z: Tensor) -> Iterator[None]:
        """Give a known z (T, B, H * d) to the output projection, within a block, instead of attending."""
        self._known = z
        try:
            yield
        finally:
            self._known = None

    @contextmanager
    def with_weights(self) -> Iterator[None]:
        """Compute the weights as well, within a block."""
        self._observed += 1
        try:
            yield
        finally:
            self._observed -= 1

    def forward(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> tuple[Tensor, Tensor | None]:
        """Attend; (T, B, width) and (S, B, width) to (T, B, width). See fairseq's class."""
        cache = options.get("incremental_state")
        if self._observed or not (cache is None or isinstance(cache, Source)):
            attended: tuple[Tensor, Tensor | None] = super().forward(query, key, value, **options)
            return attended
        if self._known is not None:
            return self.out_proj(self._known), None
        mask = _real(options.get("key_padding_mask"))
        if cache is not None:
            return self.out_proj(cache.attended(self, query, key, mask)), None
        causal = options.get("attn_mask") is not None  # fairseq's only mask
        keys, values = self.keys_and_values(key)
        dropout = self.dropout_module.p if self.training else 0.0
        queries = self.by_head(self.q_proj(query))
        z = attend(queries, keys, values, mask=None if causal else mask, causal=causal, dropout=dropout)
        return self.out_proj(flat(z)), None

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values (B, H, S, d) of states (S, B, width)."""
        return self.by_head(self.k_proj(states)), self.by_head(self.v_proj(states))

    def by_head(self, projected: Tensor) -> Tensor:
        """Return projected states (T, B, H * d) as (B, H, T, d)."""
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)


def flat(z: Tensor) -> Tensor:
    """Return z (B, H, T, d) as (T, B, H * d)."""
    return z.permute(2, 0, 1, 3).flatten(2)


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
