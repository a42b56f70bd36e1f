"""What an intervention changes: the first layers, and the sentences whose translations are decoded from a prefix on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headroom.core.interventions import Intervention
from headroom.engines.fairseq.decoding import Encoded, Prefixes, join_encoded


@dataclass(frozen=True)
class Rows:
    """Sentences to be decoded from a prefix on; `check` are those decoded plainly only for comparison, (B,)."""

    positions: list[int]
    encoded: Encoded
    limits: Tensor
    prefixes: Prefixes
    check: Tensor


def join_rows(parts: Sequence[Rows], end: int) -> Rows:
    """Return the sentences of several batches as one, padded with `end`."""
    prefixes = [part.prefixes for part in parts]
    longest = max(len(one.states[0]) for one in prefixes)
    states = [
        torch.cat([nn.functional.pad(state, (0, 0, 0, 0, 0, longest - len(state))) for state in layer], 1)
        for layer in zip(*(one.states for one in prefixes))
    ]
    width = max(one.pieces.shape[1] for one in prefixes)
    pieces = [nn.functional.pad(one.pieces, (0, width - one.pieces.shape[1]), value=end) for one in prefixes]
    return Rows(
        [position for part in parts for position in part.positions],
        join_encoded([part.encoded for part in parts]),
        torch.cat([part.limits for part in parts]),
        Prefixes(torch.cat(pieces), torch.cat([one.lengths for one in prefixes]), states),
        torch.cat([part.check for part in parts]),
    )


def find_changed_layers(intervention: Intervention) -> tuple[int | None, int]:
    """Return the first changed layers, counted from 0: of the encoder, if any, and of the decoder."""
    encoder = min((head.layer for head in intervention.heads if head.kind == "E"), default=None)
    if encoder is not None:
        return encoder - 1, 0
    return None, min(head.layer for head in intervention.heads) - 1


def end_translations(rows: Sequence[list[int]], end: int, device: torch.device) -> Tensor:
    """Return translations padded with end marks, with at least one each, (B, T)."""
    tensors = [torch.tensor([*row, end]) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=end).to(device)


def after(begin: int, guess: Tensor) -> Tensor:
    """Return the decoder's input for which it predicts a guess (B, T): the begin mark, and all pieces but the last."""
    return torch.cat([guess.new_full((len(guess), 1), begin), guess[:, :-1]], dim=1)


def cut_after(guess: Tensor, lengths: Tensor, further: Tensor, end: int) -> Tensor:
    """Return the first `lengths` (B,) pieces of a guess (B, T), a further piece (B,), then end marks; -1 for none."""
    places = torch.arange(guess.shape[1], device=guess.device)
    cut = guess.masked_fill(places >= lengths[:, None], end)
    return torch.where(places == lengths[:, None], further[:, None], cut)
