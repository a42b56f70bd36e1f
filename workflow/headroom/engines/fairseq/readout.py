"""The logits of a decoder's states, and the best next pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headroom.engines.candidates import Candidates, Projection
from headroom.engines.fairseq.nats import compute_chunk

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder


@dataclass(frozen=True)
class Marks:
    """The special pieces of decoding: begin and end marks, and pieces that are never produced."""

    begin: int
    end: int
    forbidden: list[int]


def compute_features(decoder: TransformerDecoder, states: Tensor) -> Tensor:
    """Return the input of the output projection for states after the last layer, (..., width) each."""
    states = states if decoder.layer_norm is None else decoder.layer_norm(states)
    return states if decoder.project_out_dim is None else decoder.project_out_dim(states)


def compute_logits(decoder: TransformerDecoder, states: Tensor) -> Tensor:
    """Return the logits (..., V) of states after the last layer (..., width)."""
    logits: Tensor = decoder.output_layer(compute_features(decoder, states))
    return logits


def by_chunks(decoder: TransformerDecoder, states: Tensor, reduce: Callable[[Tensor, slice], Tensor]) -> Tensor:
    """Return what `reduce` makes of the logits (n, V) of each chunk of states (N, width), joined: (N, ...).

    `reduce` also gets the chunk's place. On a CPU the logits of a chunk stay in its cache.
    """
    size = compute_chunk(states)
    chunks = [slice(start, start + size) for start in range(0, max(len(states), 1), size)]
    return torch.cat([reduce(compute_logits(decoder, states[chunk]), chunk) for chunk in chunks])


def best_pieces(decoder: TransformerDecoder, states: Tensor, place: Tensor, marks: Marks) -> Tensor:
    """Return the best pieces (N,) after states (N, width) at some places in their translations (N,)."""
    return by_chunks(decoder, states, lambda logits, chunk: forbid_pieces(logits, place[chunk], marks).argmax(-1))


def forbid_pieces(logits: Tensor, place: Tensor, marks: Marks) -> Tensor:
    """Exclude, in place, forbidden pieces, and the end mark where no piece precedes: logits (B, V), place (B,)."""
    logits[:, marks.forbidden] = -torch.inf
    logits[:, marks.end].masked_fill_(place == 0, -torch.inf)  # as with fairseq, no translation is empty
    return logits


def find_candidates(
    decoder: TransformerDecoder, projection: Projection, states: Tensor, place: Tensor, marks: Marks
) -> Candidates:
    """Return the candidates at states after the last layer (N, width), at places in their translations (N,)."""

    def largest(logits: Tensor, chunk: slice) -> Tensor:
        return forbid_pieces(logits, place[chunk], marks).topk(projection.ranked).indices

    return Candidates(projection, compute_features(decoder, states), by_chunks(decoder, states, largest))
