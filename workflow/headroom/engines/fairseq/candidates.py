"""The best next pieces of a decoder, and their verification for a similar model without computing all logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headroom.engines.fairseq.nats import compute_chunk

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder

COUNT = 8
"""Candidates per position."""

_SLACK = 1e-3
"""Lead over other pieces, in nats, below which all logits are computed; errors of float32 are a hundredth of it."""


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


class Candidates:
    """The best pieces at some positions in the plain model, and a bound on the logits of all others.

    With h and h' the features of a position in the plain and in another model, w_v the output weights of piece v, and c
    their mean over all pieces, the scores <w_v - c, h'> differ from the logits by the same number for every piece. For
    pieces without weights of their own here, <w_v - c, h'> <= <w_v - c, h> + |w_v - c| |h' - h| (Cauchy-Schwarz). If
    the best candidate's score is above the largest of these bounds, it is the best piece.
    """

    def __init__(self, decoder: TransformerDecoder, states: Tensor, place: Tensor, marks: Marks) -> None:
        """Store the candidates at states after the last layer (N, width), at places in their translations (N,)."""
        self._decoder, self._place, self._marks = decoder, place, marks
        output = decoder.output_projection
        weight = output.weight - output.weight.mean(0)  # (V, D)
        self._weight = weight
        self._bias = weight.new_zeros(len(weight)) if output.bias is None else output.bias
        self._reach = weight.norm(dim=1).index_fill(0, torch.tensor(marks.forbidden).to(weight.device), 0.0).max()
        self._features = compute_features(decoder, states)  # (N, D)
        count = min(COUNT, len(weight) - len(marks.forbidden) - 2)

        def largest(logits: Tensor, chunk: slice) -> Tensor:
            return forbid_pieces(logits, place[chunk], marks).topk(count + 1).indices

        pieces = by_chunks(decoder, states, largest)  # (N, K + 1)
        self._pieces = pieces[:, :-1]
        self._rest = self._scores(pieces[:, -1:], self._features)[:, 0]  # (N,)

    def best(self, states: Tensor) -> Tensor:
        """Return the best pieces (N,) for states of another model at the same positions, (N, width)."""
        features = compute_features(self._decoder, states)
        scores = self._scores(self._pieces, features)  # (N, K)
        lead, first = scores.max(1, keepdim=True)
        second = scores.scatter(1, first, -torch.inf).amax(1)
        others = self._rest + self._reach * (features - self._features).norm(dim=1)
        best = self._pieces.gather(1, first)[:, 0]
        unsure = (lead[:, 0] <= torch.maximum(second, others) + _SLACK).nonzero().squeeze(1)
        if len(unsure):
            best[unsure] = best_pieces(self._decoder, states[unsure], self._place[unsure], self._marks)
        return best

    def tensors(self) -> list[Tensor]:
        """Return the stored tensors, without the weights."""
        return [self._features, self._pieces, self._rest]

    def _scores(self, pieces: Tensor, features: Tensor) -> Tensor:
        """Return the scores of pieces (N, K) with features (N, D): (N, K)."""
        return torch.bmm(self._weight[pieces], features[:, :, None]).squeeze(2) + self._bias[pieces]
