"""Translations and losses under interventions, with the plain model's states reused where they do not change.

An intervention in the encoder's layer l leaves the states of the layers below l as they are; one in the decoder leaves
the encoder's, and, over the same pieces, those of the lower layers of the decoder; the z of the first changed site is
that of the plain model before its gate. Most translations do not change, or only from some piece on: references and the
plain model's translations are computed in one pass, which shares their common beginnings, and a changed translation is
continued from its first different piece. The results are those of plain decoding, except for ties within rounding
errors: a sample of sentences is decoded plainly as well, and differences are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.heads import Site
from headroom.core.interventions import Intervention
from headroom.engines.candidates import Candidates, Projection
from headroom.engines.fairseq.attention import FusedAttention
from headroom.engines.fairseq.batches import ParallelBatch
from headroom.engines.fairseq.changes import (
    Rows,
    after,
    cut_after,
    end_translations,
    find_changed_layers,
    join_rows,
)
from headroom.engines.fairseq.decoding import (
    ROWS,
    Encoded,
    Prefixes,
    compute_limits,
    decode,
    encode,
    greedy,
    mismatches,
    pieces_until_end,
    select_encoded,
    verify_guess,
)
from headroom.engines.fairseq.nats import piece_nats
from headroom.engines.fairseq.packed import Layout, Packed, begin, run
from headroom.engines.fairseq.readout import Marks, compute_features, find_candidates
from headroom.engines.reusable import STORED
from headroom.engines.translation_scores import sample_rows

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder
    from headroom.engines.fairseq.model import TranslationModel
    from headroom.settings.answers import DecodingSettings


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
class _Plain:
    """What is kept of the plain model's pass over a batch.

    Attributes:
        encoded: The output of `encode`.
        states: The states before and after each layer of the decoder, (1, N, width).
        z: The z of all sites, before their output projections: (S, B, H * d) in the encoder, else (1, N, H * d).
        packed: The keys and values of the sources.
        candidates: The best pieces at the positions of the guess.
    """

    encoded: Encoded
    states: list[Tensor]
    z: Mapping[Site, Tensor]
    packed: Packed
    candidates: Candidates

    @property
    def size(self) -> int:
        """The bytes of all tensors."""
        tensors = [*self.encoded["encoder_states"], *self.states, *self.z.values(), *self.packed.tensors()]
        return sum(tensor.nbytes for tensor in tensors) + self.candidates.size


@dataclass(frozen=True)
class _Known:
    """A batch with the plain model's translations, each with an end mark (B, T), and its pass over them, if kept."""

    guess: Tensor
    layout: Layout
    plain: _Plain | None = None


class Sweep:
    """A model and a set in batches, with the plain model's translations, for many interventions."""

    @torch.inference_mode()
    def __init__(
        self,
        model: TranslationModel,
        batches: Sequence[ParallelBatch],
        plain: Sequence[list[int]],
        settings: DecodingSettings,
    ) -> None:
        """Run the plain model over references and its own translations; gates must be clear."""
        self.model = model
        self._decoder, self._encoder = model.model.decoder, model.model.encoder
        self._batches, self._settings, self._marks = batches, settings, model.marks
        self._translations = plain
        output = self._decoder.output_projection
        self._projection = Projection(output.weight, output.bias, self._marks.forbidden)
        self._known = list(self._passes())

    @torch.inference_mode()
    def result(self, intervention: Intervention) -> Result:
        """Return the outcome of an intervention whose gates are set."""
        pieces = list(self._translations)
        nats, targets, again = numpy.zeros(len(pieces)), numpy.zeros(len(pieces)), numpy.zeros((len(pieces), 2))
        waiting: list[Rows] = []
        resampled = intervention.replacement == "resample"  # such heads depend on the batch, which is decoded as it is
        worth = not resampled
        for batch, known in zip(self._batches, self._known):
            encoded = self._encoded(batch, known, intervention)
            if worth:
                states = self._states(known, encoded, intervention)
                summed, counts = self._nats(batch, known.layout, states[-1])
                rows, worth = self._changed(intervention, batch, known, encoded, states)
            else:
                summed, counts = compute_nats(self._decoder, batch, encoded, self._marks)
                rows = self._rows(batch, encoded)
            nats[batch.positions], targets[batch.positions] = summed.cpu().numpy(), counts.cpu().numpy()
            waiting.append(rows)
            if resampled or sum(len(rows.positions) for rows in waiting) >= ROWS:
                self._store(pieces, again, join_rows(waiting, self._marks.end), keep_rows=resampled)
                waiting = []
        if any(rows.positions for rows in waiting):
            self._store(pieces, again, join_rows(waiting, self._marks.end))
        return Result(pieces, nats, targets, again)

    def _passes(self) -> Iterator[_Known]:
        stored = 0
        for batch in self._batches:
            guess = end_translations(
                [self._translations[position] for position in batch.positions], self._marks.end, self.model.device
            )
            assert batch.previous is not None
            assert batch.target is not None
            real, own = batch.target.ne(self._marks.forbidden[0]), self._counted(batch, guess)
            layout = Layout.of(batch.previous, real.sum(1), after(self._marks.begin, guess), own.sum(1))
            plain = self._pass(batch, layout, own) if stored <= STORED else None
            stored += plain.size if plain else 0
            yield _Known(guess, layout, plain if stored <= STORED else None)

    def _counted(self, batch: ParallelBatch, guess: Tensor) -> Tensor:
        return verify_guess(guess, compute_limits(batch.lengths, self._settings, self._decoder), self._marks)

    def _pass(self, batch: ParallelBatch, layout: Layout, own: Tensor) -> _Plain:
        """Run the plain model over a batch; `own` are the positions of the guess that count, (B, T)."""
        z: dict[Site, Tensor] = {}
        with self.model.gates.observed(lambda site, seen: z.update({site: seen.flatten(2)})):
            encoded, packed = encode(self._encoder, batch), Packed(layout)
            states = run(self._decoder, [begin(self._decoder, layout)], encoded, packed)
        row, place = own.nonzero(as_tuple=True)
        last = states[-1][0, layout.guess[row, place]]  # (N, width)
        candidates = find_candidates(self._decoder, self._projection, last, place, self._marks)
        return _Plain(encoded, states, z, packed, candidates)

    def _encoded(self, batch: ParallelBatch, known: _Known, intervention: Intervention) -> Encoded:
        first, _ = find_changed_layers(intervention)
        if known.plain is None:
            return encode(self._encoder, batch)
        if first is None:
            return known.plain.encoded
        with self._knowing(known.plain, {("E", first + 1)}):
            return encode(self._encoder, batch, known.plain.encoded["encoder_states"], first)

    def _states(self, known: _Known, encoded: Encoded, intervention: Intervention) -> list[Tensor]:
        """Return the states (1, N, width) before and after each layer of the decoder under an intervention."""
        if known.plain is None:
            return run(self._decoder, [begin(self._decoder, known.layout)], encoded, Packed(known.layout))
        encoder, first = find_changed_layers(intervention)
        same = {("D", first + 1)}
        if encoder is None and not any(head.kind == "D" and head.layer == first + 1 for head in intervention.heads):
            same.add(("A", first + 1))
        packed = known.plain.packed if encoder is None else Packed(known.layout)
        with self._knowing(known.plain, same):
            return run(self._decoder, known.plain.states[: first + 1], encoded, packed)

    @contextmanager
    def _knowing(self, plain: _Plain, same: Collection[tuple[str, int]]) -> Iterator[None]:
        """Let sites, given by kind and layer, have the z of the plain model, within a block."""
        with ExitStack() as stack:
            for live in self.model.live_sites:
                attention = live.attention
                if (live.site.kind, live.site.layer) in same and live.kept and isinstance(attention, FusedAttention):
                    stack.enter_context(attention.knowing(plain.z[live.site]))
            yield

    def _nats(self, batch: ParallelBatch, layout: Layout, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of `compute_nats` from the states (1, N, width) after the last layer."""
        assert batch.target is not None
        real = batch.target.ne(self._marks.forbidden[0])  # (B, T)
        return sum_nats(self._decoder, states[0, layout.reference[:, : real.shape[1]][real]], batch.target, real)

    def _rows(self, batch: ParallelBatch, encoded: Encoded) -> Rows:
        """Return a batch to be decoded from the begin mark on."""
        limits = compute_limits(batch.lengths, self._settings, self._decoder)
        start = Prefixes(
            torch.full_like(limits, self._marks.end)[:, None],
            torch.full_like(limits, -1),
            [encoded["encoder_out"][0].new_zeros(0, len(limits), self._width) for _ in self._decoder.layers],
        )
        return Rows(batch.positions, encoded, limits, start, torch.zeros_like(limits, dtype=torch.bool))

    @property
    def _width(self) -> int:
        """Features of the decoder's states."""
        return int(self._decoder.layers[0].embed_dim)

    def _changed(
        self,
        intervention: Intervention,
        batch: ParallelBatch,
        known: _Known,
        encoded: Encoded,
        states: Sequence[Tensor],
    ) -> tuple[Rows, bool]:
        """Return the sentences whose translation changes, a sample of all, and whether this saves work.

        `states` are from `_states`.
        """
        limits = compute_limits(batch.lengths, self._settings, self._decoder)
        guess = known.layout.guess[:, : known.guess.shape[1]]  # (B, T)
        wrong, places, best = mismatches(
            self.model.model,
            states=states[-1][0, guess].transpose(0, 1),
            guess=known.guess,
            limits=limits,
            marks=self._marks,
            candidates=known.plain.candidates if known.plain else None,
        )
        check = torch.tensor(sample_rows(intervention, batch.positions), dtype=torch.long).to(wrong)
        rows = torch.cat([wrong, check])
        lengths = torch.cat([places, torch.full_like(check, -1)])
        further = torch.cat([best, torch.zeros_like(check)])
        cut = cut_after(known.guess[rows], lengths, further, self._marks.end)
        prefixes = Prefixes(cut, lengths, [state[0, guess[rows]].transpose(0, 1) for state in states[:-1]])
        checked = torch.arange(len(rows), device=rows.device) >= len(wrong)
        positions = [batch.positions[row] for row in rows.tolist()]
        total = (known.guess != self._marks.end).sum(1)
        kept = total.sum() - (total[wrong] - places).clamp(min=0).sum()
        return Rows(positions, select_encoded(encoded, rows), limits[rows], prefixes, checked), bool(
            kept >= _WORTH * total.sum()
        )

    def _store(self, pieces: list[list[int]], again: ndarray, rows: Rows, *, keep_rows: bool = False) -> None:
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


def compute_nats(
    decoder: TransformerDecoder, batch: ParallelBatch, encoded: Encoded, marks: Marks
) -> tuple[Tensor, Tensor]:
    """Return the summed negative log-likelihoods of the references in nats and their numbers of pieces, (B,) each."""
    assert batch.previous is not None
    assert batch.target is not None
    states = decode(decoder, batch.previous, encoded)[-1]  # (T, B, width)
    real = batch.target.ne(marks.forbidden[0])  # padding
    return sum_nats(decoder, states.transpose(0, 1)[real], batch.target, real)


def sum_nats(decoder: TransformerDecoder, states: Tensor, target: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `compute_nats` does for the states (N, width) at the real positions of references (B, T)."""
    nats = piece_nats(decoder, compute_features(decoder, states), target[real])
    row = real.nonzero(as_tuple=True)[0]
    summed = torch.zeros(len(real), dtype=torch.float64, device=nats.device).index_add_(0, row, nats.double())
    return summed, real.sum(1)
