"""Translations and losses under interventions, with the plain model's states reused where they do not change.

An intervention in the encoder's layer l leaves the states of the layers below l as they are; one in the decoder leaves
the encoder's, and, over the same pieces, those of the lower layers of the decoder. Most translations do not change,
or only from some piece on: the plain model's translations are verified in one pass, and a changed one is continued
from its first different piece. The results are those of plain decoding, except for ties within rounding errors: a
sample of sentences is decoded plainly as well, and differences are counted.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor, nn

from headroom.core.interventions import Intervention
from headroom.engines.translation.batches import Batch
from headroom.engines.translation.decoding import (
    ROWS,
    Marks,
    Prefixes,
    by_chunks,
    decode,
    encode,
    greedy,
    joined,
    limits_of,
    mismatches,
    pieces_until_end,
    selected,
)

if TYPE_CHECKING:
    from headroom.engines.translation.model import TranslationModel
    from headroom.settings.experiments import DecodingSettings

EVERY = 50
"""One sentence in so many is decoded plainly as well, others for each intervention."""

_ROOM = 2**30
"""Bytes for states of the plain model; batches beyond it are computed from the first layer."""

_WORTH = 0.25
"""If the first different pieces come before this share of a batch, the next batches are decoded plainly."""


@dataclass(frozen=True)
class Result:
    """A set under an intervention.

    Attributes:
        pieces: The translations, in the order of the set.
        nats: Summed negative log-likelihoods of the references, (n,).
        targets: Numbers of pieces of the references, (n,).
        again: For each sentence whether it was decoded plainly as well, and whether the result differs, (n, 2).
    """

    pieces: list[list[int]]
    nats: ndarray
    targets: ndarray
    again: ndarray


@dataclass(frozen=True)
class _Known:
    """A batch in the plain model: translations with an end mark (B, T), and states of all passes, if stored."""

    guess: Tensor
    encoded: dict[str, list[Tensor]] | None = None
    reference: list[Tensor] | None = None
    guessed: list[Tensor] | None = None


@dataclass(frozen=True)
class _Rows:
    """Sentences to be decoded from a prefix on; `check` are those decoded plainly only for comparison, (B,)."""

    positions: list[int]
    encoded: dict[str, list[Tensor]]
    limits: Tensor
    prefixes: Prefixes
    check: Tensor


class Sweep:
    """A model and a set in batches, with the plain model's translations, for many interventions."""

    @torch.inference_mode()
    def __init__(
        self, model: TranslationModel, batches: Sequence[Batch], plain: Sequence[list[int]], settings: DecodingSettings
    ) -> None:
        """Run the plain model over references and its own translations; gates must be clear."""
        self.model = model
        self._decoder, self._encoder = model.model.decoder, model.model.encoder
        self._batches, self._settings, self._marks = batches, settings, model.marks
        self._plain = plain
        self._known = list(self._passes())

    @torch.inference_mode()
    def result(self, intervention: Intervention) -> Result:
        """Return the outcome of an intervention whose gates are set."""
        encoder, decoder = changed_layers(intervention)
        pieces = list(self._plain)
        nats, targets, again = numpy.zeros(len(pieces)), numpy.zeros(len(pieces)), numpy.zeros((len(pieces), 2))
        waiting: list[_Rows] = []
        worth = True
        for batch, known in zip(self._batches, self._known):
            encoded = self._encoded(batch, known, encoder)
            summed, counts = nats_of(self._decoder, batch, encoded, self._marks, known.reference, decoder)
            nats[batch.positions], targets[batch.positions] = summed.cpu().numpy(), counts.cpu().numpy()
            if intervention.replacement == "resample":  # such heads depend on the batch, which is decoded as it is
                self._store(pieces, again, self._rows(batch, encoded), keep_rows=True)
            elif worth:
                rows, worth = self._changed(intervention, batch, known, encoded, decoder)
                waiting.append(rows)
            else:
                waiting.append(self._rows(batch, encoded))
            if sum(len(rows.positions) for rows in waiting) >= ROWS:
                self._store(pieces, again, _joined(waiting, self._marks.end))
                waiting = []
        if any(rows.positions for rows in waiting):
            self._store(pieces, again, _joined(waiting, self._marks.end))
        return Result(pieces, nats, targets, again)

    def _passes(self) -> Iterator[_Known]:
        stored = 0
        for batch in self._batches:
            guess = ended([self._plain[position] for position in batch.positions], self._marks.end, self.model.device)
            encoded = encode(self._encoder, batch)
            assert batch.previous is not None
            reference = decode(self._decoder, batch.previous, encoded)
            guessed = decode(self._decoder, after(self._marks.begin, guess), encoded)
            states = (*encoded["encoder_states"], *reference, *guessed)
            stored += sum(state.numel() * state.element_size() for state in states)
            yield _Known(guess, encoded, reference, guessed) if stored <= _ROOM else _Known(guess)

    def _encoded(self, batch: Batch, known: _Known, first: int | None) -> dict[str, list[Tensor]]:
        if known.encoded is None:
            return encode(self._encoder, batch)
        return known.encoded if first is None else encode(self._encoder, batch, known.encoded["encoder_states"], first)

    def _rows(self, batch: Batch, encoded: dict[str, list[Tensor]]) -> _Rows:
        """Return a batch to be decoded from the begin mark on."""
        limits = limits_of(batch.lengths, self._settings)
        start = Prefixes(
            torch.full_like(limits, self._marks.end)[:, None],
            torch.full_like(limits, -1),
            [encoded["encoder_out"][0].new_zeros(0, len(limits), self._width) for _ in self._decoder.layers],
        )
        return _Rows(batch.positions, encoded, limits, start, torch.zeros_like(limits, dtype=torch.bool))

    @property
    def _width(self) -> int:
        """Features of the decoder's states."""
        return int(self._decoder.layers[0].embed_dim)

    def _changed(
        self, intervention: Intervention, batch: Batch, known: _Known, encoded: Any, first: int
    ) -> tuple[_Rows, bool]:
        """Return the sentences whose translation changes, a sample of all, and whether this saves work."""
        limits = limits_of(batch.lengths, self._settings)
        states = decode(self._decoder, after(self._marks.begin, known.guess), encoded, known.guessed, first)
        wrong, places, best = mismatches(
            self.model.model, states=states[-1], guess=known.guess, limits=limits, marks=self._marks
        )
        check = sampled(intervention, batch.positions).to(wrong)
        rows = torch.cat([wrong, check])
        lengths = torch.cat([places, torch.full_like(check, -1)])
        further = torch.cat([best, torch.zeros_like(check)])
        cut = cut_after(known.guess[rows], lengths, further, self._marks.end)
        prefixes = Prefixes(cut, lengths, [state[:, rows] for state in states[:-1]])
        checked = torch.arange(len(rows), device=rows.device) >= len(wrong)
        positions = [batch.positions[row] for row in rows.tolist()]
        total = (known.guess != self._marks.end).sum(1)
        kept = total.sum() - (total[wrong] - places).clamp(min=0).sum()
        return _Rows(positions, selected(encoded, rows), limits[rows], prefixes, checked), bool(
            kept >= _WORTH * total.sum()
        )

    def _store(self, pieces: list[list[int]], again: ndarray, rows: _Rows, *, keep_rows: bool = False) -> None:
        """Decode sentences, and store their translations or compare them with those that are stored."""
        output = greedy(
            self.model.model,
            encoded=rows.encoded,
            limits=rows.limits,
            marks=self._marks,
            prefixes=rows.prefixes,
            keep_rows=keep_rows,
        )
        found = [pieces_until_end(row, self._marks.end) for row in output.tolist()]
        checked = rows.check.tolist()
        for position, row, check in zip(rows.positions, found, checked):
            if not check:
                pieces[position] = row
        for position, row, check in zip(rows.positions, found, checked):
            if check:
                again[position] = 1.0, float(pieces[position] != row)


def _joined(parts: Sequence[_Rows], end: int) -> _Rows:
    prefixes = [part.prefixes for part in parts]
    longest = max(len(one.states[0]) for one in prefixes)
    states = [
        torch.cat([nn.functional.pad(state, (0, 0, 0, 0, 0, longest - len(state))) for state in layer], 1)
        for layer in zip(*(one.states for one in prefixes))
    ]
    width = max(one.pieces.shape[1] for one in prefixes)
    pieces = [nn.functional.pad(one.pieces, (0, width - one.pieces.shape[1]), value=end) for one in prefixes]
    return _Rows(
        [position for part in parts for position in part.positions],
        joined([part.encoded for part in parts]),
        torch.cat([part.limits for part in parts]),
        Prefixes(torch.cat(pieces), torch.cat([one.lengths for one in prefixes]), states),
        torch.cat([part.check for part in parts]),
    )


def changed_layers(intervention: Intervention) -> tuple[int | None, int]:
    """Return the first changed layers, counted from 0: of the encoder, if any, and of the decoder."""
    encoder = min((head.layer for head in intervention.heads if head.kind == "E"), default=None)
    if encoder is not None:
        return encoder - 1, 0
    return None, min(head.layer for head in intervention.heads) - 1


def sampled(intervention: Intervention, positions: Sequence[int]) -> Tensor:
    """Return the rows of the sentences that are decoded plainly as well under an intervention, (K,)."""
    rest = zlib.crc32(str(intervention).encode()) % EVERY
    return torch.tensor([row for row, place in enumerate(positions) if place % EVERY == rest], dtype=torch.long)


def nats_of(
    decoder: Any, batch: Batch, encoded: Any, marks: Marks, known: list[Tensor] | None = None, first: int = 0
) -> tuple[Tensor, Tensor]:
    """Return the summed negative log-likelihoods of the references in nats and their numbers of pieces, (B,) each.

    `known` are states of an earlier pass of the decoder, of which those up to layer `first` are reused.
    """
    assert batch.previous is not None
    assert batch.target is not None
    states = decode(decoder, batch.previous, encoded, known, first)[-1]  # (T, B, width)
    real = batch.target.ne(marks.forbidden[0])  # padding
    row, place = real.nonzero(as_tuple=True)
    wanted = batch.target[row, place]

    def negative_log(logits: Tensor, chunk: slice) -> Tensor:
        return torch.nn.functional.cross_entropy(logits.float(), wanted[chunk], reduction="none")

    nats = by_chunks(decoder, states.transpose(0, 1)[row, place], negative_log)
    summed = torch.zeros(len(real), dtype=torch.float64, device=nats.device).index_add_(0, row, nats.double())
    return summed, real.sum(1)


def ended(rows: Sequence[list[int]], end: int, device: torch.device) -> Tensor:
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
