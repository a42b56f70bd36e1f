"""Passes over known translations without padding: all positions of a batch in one row.

Each sentence has two translations, its reference and a guess, which share the positions up to their first difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headroom.engines.fairseq.attention import FusedAttention, Source, attend
from headroom.engines.fairseq.decoding import Encoded, embed_pieces, find_padding, position_table

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder


@dataclass(frozen=True)
class Layout:
    """The positions of two translations of each of B sentences, N in all, those of a sentence one after another.

    Attributes:
        inputs: The decoder's input at each position, (N,).
        steps: The number of pieces before it, (N,).
        reference: The position of each piece of the references, (B, T); beyond their ends any.
        guess: The position of each piece of the guesses, (B, T); beyond their ends any.
        both: References and guesses, (2 B, T).
        single: The places of the positions in `both`, flattened, (N,).
        sentence: The positions of each sentence, (B, L); beyond their number any.
        own: The places of the positions in `sentence`, flattened, (N,).
    """

    inputs: Tensor
    steps: Tensor
    reference: Tensor
    guess: Tensor
    both: Tensor
    single: Tensor
    sentence: Tensor
    own: Tensor

    @classmethod
    def of(cls, reference: Tensor, lengths: Tensor, guess: Tensor, counts: Tensor) -> Layout:
        """Return the layout of the decoder's inputs for references (B, T) and guesses (B, G), with their lengths (B,).

        Every translation has at least one position, which holds the same begin mark.
        """
        width = max(reference.shape[1], guess.shape[1])
        first, second = (torch.nn.functional.pad(one, (0, width - one.shape[1])) for one in (reference, guess))
        places = torch.arange(width, device=guess.device)
        of_first, of_second = places < lengths[:, None], places < counts[:, None]  # (B, T)
        same = ((first == second) & of_first & of_second).int().cumprod(1).bool()
        shared = same.sum(1)
        total = lengths + counts - shared
        start = (total.cumsum(0) - total)[:, None]  # (B, 1)
        where_first = torch.where(of_first, start + places, start)
        further = torch.where(of_second, start + (lengths - shared)[:, None] + places, start)
        where_second = torch.where(same, where_first, further)
        size = int(total.sum())
        inputs, steps, single, own = (guess.new_zeros(size) for _ in range(4))
        both = torch.cat([where_first, where_second])
        index = torch.arange(both.numel(), device=guess.device).view_as(both)
        for pieces, where, real, number in (
            (second, where_second, of_second, index[len(guess) :]),
            (first, where_first, of_first, index[: len(guess)]),
        ):
            inputs[where[real]], single[where[real]] = pieces[real], number[real]
            steps[where[real]] = places.expand_as(where)[real]
        longest = torch.arange(int(total.max()), device=guess.device)
        real = longest < total[:, None]  # (B, L)
        sentence = torch.where(real, start + longest, start)
        own[sentence[real]] = torch.arange(real.numel(), device=guess.device).view_as(real)[real]
        return cls(inputs, steps, where_first, where_second, both, single, sentence, own)


class Packed(Source):
    """A layout, and the keys and values of the sources; fairseq's layers pass it as their `incremental_state`.

    Their states are (1, N, width).
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout

    def attended(self, attention: FusedAttention, states: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """Return z (1, N, H * d) at all positions; see `Source`."""
        layout = self.layout
        queries = attention.q_proj(states)[0]  # (N, H * d)
        if attention.self_attention:
            keys, values = attention.k_proj(states)[0], attention.v_proj(states)[0]
            rows = [_by_head(one, layout.both, attention.num_heads) for one in (queries, keys, values)]
            z, places = attend(*rows, causal=True), layout.single  # (2 B, H, T, d)
        else:
            rows = [_by_head(queries, layout.sentence, attention.num_heads), *self.of_source(attention, source)]
            z, places = attend(*rows, mask=mask), layout.own  # (B, H, L, d)
        return z.transpose(1, 2).flatten(2).flatten(0, 1)[places][None]


def _by_head(states: Tensor, places: Tensor, heads: int) -> Tensor:
    """Return the states (N, H * d) at some places (B, T) as (B, H, T, d)."""
    return states[places.flatten()].view(*places.shape, heads, -1).transpose(1, 2)


def begin(decoder: TransformerDecoder, layout: Layout) -> Tensor:
    """Return the input of the decoder's first layer, (1, N, width)."""
    table = position_table(decoder, int(layout.steps.max()) + 1, layout.inputs)
    positions = None if table is None else table[layout.steps][:, None]  # (N, 1, width)
    return embed_pieces(decoder, layout.inputs[:, None], positions)


def run(decoder: TransformerDecoder, states: Sequence[Tensor], encoded: Encoded, packed: Packed) -> list[Tensor]:
    """Continue a pass: from the states (1, N, width) before and after the first layers to those of all layers."""
    found, padding = list(states), find_padding(encoded)
    for layer in decoder.layers[len(states) - 1 :]:
        found.append(layer(found[-1], encoded["encoder_out"][0], padding, packed)[0])
    return found
