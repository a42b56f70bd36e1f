"""The attention of fairseq's Transformers by torch's fused kernel, and the cache of greedy decoding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headroom.engines.translation import fairseq as _engine  # noqa: F401 (imports fairseq quietly)

from fairseq.modules import MultiheadAttention  # isort: skip

_STEPS = 16  # a cache grows by so many pieces, or by half


class Source(dict[str, Any]):
    """Keys and values of a batch's sources, computed once; fairseq's layers pass it as their `incremental_state`."""

    def __init__(self) -> None:
        super().__init__()
        self._fixed: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def of_source(self, attention: FusedAttention, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values (B, H, S, d) of the source's states (S, B, width)."""
        if attention not in self._fixed:
            keys, values = attention.keys_and_values(states)
            self._fixed[attention] = (keys.contiguous(), values.contiguous())
        return self._fixed[attention]


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
        mask = _real(options.get("key_padding_mask"))
        causal = options.get("attn_mask") is not None  # fairseq's only mask
        if self.self_attention and isinstance(cache, Cache):
            keys, values = cache.append(self, *self.keys_and_values(key))
            mask = cache.mask()
        elif self.self_attention or cache is None:
            keys, values = self.keys_and_values(key)
        else:
            keys, values = cache.of_source(self, key)
        z = nn.functional.scaled_dot_product_attention(
            self._by_head(self.q_proj(query)),  # (B, H, T, d)
            keys,
            values,
            attn_mask=None if causal else mask,
            dropout_p=self.dropout_module.p if self.training else 0.0,
            is_causal=causal,
        )
        return self.out_proj(z.permute(2, 0, 1, 3).flatten(2)), None  # (T, B, H * d)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values (B, H, S, d) of states (S, B, width)."""
        return self._by_head(self.k_proj(states)), self._by_head(self.v_proj(states))

    def _by_head(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)


def fuse(attention: Any) -> None:
    """Let an attention of fairseq use the fused kernel, in place; its weights, also of a checkpoint, are the same."""
    if type(attention) is MultiheadAttention:
        attention.skip_embed_dim_check = True  # otherwise a path without a call of the output projection is taken
        attention.__class__ = FusedAttention


def _real(padding: Tensor | None) -> Tensor | None:
    """Return the mask of keys that count (B, 1, 1, S), from that of padding (B, S)."""
    return None if padding is None else ~padding.bool()[:, None, None]
