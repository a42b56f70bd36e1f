"""Sentences of translation in the form of encoder-decoder models of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headroom.models.batch import Batch

IGNORED = -100
"""A target that is not predicted; torch and transformers leave it out of losses."""


@dataclass(frozen=True)
class PairBatch(Batch):
    """Sentences, with or without references.

    Attributes:
        source: Source tokens, right-padded, (B, S).
        mask: Which of them are not padding, as 0 and 1, (B, S).
        previous: The decoder's input for teacher forcing, right-padded, (B, T); None without references.
        target: The next token at each of its positions, (B, T), `IGNORED` at padding and where it is given, as the code
            of a language is; None without references.
        encoded: The encoder's last states, (B, S, D), if they are known.
    """

    source: Tensor
    mask: Tensor
    previous: Tensor | None = None
    target: Tensor | None = None
    encoded: Tensor | None = None

    @property
    def tokens(self) -> Tensor:
        """What the encoder reads, (B, S)."""
        return self.source

    @property
    def length(self) -> int:
        """The number of positions of the longer side."""
        return max(side.shape[1] for side in (self.source, self.previous) if side is not None)

    @property
    def lengths(self) -> Tensor:
        """The numbers of source tokens, (B,)."""
        return self.mask.sum(1)

    @property
    def taught(self) -> tuple[Tensor, Tensor]:
        """The decoder's input and targets of a batch with references."""
        assert self.previous is not None, "the batch has no references"
        assert self.target is not None
        return self.previous, self.target

    @property
    def read(self) -> Tensor:
        """Which positions of the decoder's input are not padding, (B, T): the last token of each row is predicted."""
        return self.taught[1].ne(IGNORED).flip(1).cumsum(1).flip(1) > 0


def collate_sources(
    positions: Sequence[int], rows: Sequence[Sequence[int]], padding: int, device: torch.device
) -> PairBatch:
    """Return sources, given as tokens, as a batch without references."""
    lengths = torch.tensor([len(row) for row in rows], device=device)
    source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding).to(device)
    mask = torch.arange(source.shape[1], device=device) < lengths[:, None]
    return PairBatch(list(positions), source, mask.long())


def collate_targets(
    rows: Sequence[Sequence[int]], begin: Sequence[int], padding: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the decoder's input and its targets (B, T) for predicted tokens, each row with its end mark."""
    given = [IGNORED] * (len(begin) - 1)
    previous = [torch.tensor([*begin, *row[:-1]]) for row in rows]
    target = [torch.tensor([*given, *row]) for row in rows]
    return (
        pad_sequence(previous, batch_first=True, padding_value=padding).to(device),
        pad_sequence(target, batch_first=True, padding_value=IGNORED).to(device),
    )


def join_sources(batches: Sequence[PairBatch], padding: int) -> PairBatch:
    """Return the sources of several batches as one, with the encoder's states if they are known of each."""
    longest = max(batch.source.shape[1] for batch in batches)

    def widened(tensor: Tensor, value: int) -> Tensor:
        missing = (0, longest - tensor.shape[1])
        return torch.nn.functional.pad(tensor, missing if tensor.dim() == 2 else (0, 0, *missing), value=value)

    states = [batch.encoded for batch in batches if batch.encoded is not None]
    return PairBatch(
        [position for batch in batches for position in batch.positions],
        torch.cat([widened(batch.source, padding) for batch in batches]),
        torch.cat([widened(batch.mask, 0) for batch in batches]),
        encoded=torch.cat([widened(one, 0) for one in states]) if len(states) == len(batches) else None,
    )
