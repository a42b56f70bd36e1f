"""Evaluation sets of translation by transformers: generation, and teacher-forced losses.

Under an intervention most translations do not change. Each is verified in one teacher-forced pass over the translation
of the plain model, which shares states below the first changed site with the plain model's pass; those with a piece
that is not the best one are generated again from there on. The results are those of plain generation, except for ties
within rounding errors: a sample of sentences is generated as well, and differences are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.interventions import Intervention
from headroom.engines.engine import Outcome
from headroom.engines.gates import Replacements
from headroom.engines.head_model import take_rows
from headroom.engines.hub.plain_states import PlainStates
from headroom.engines.hub.seq2seq.batches import PairBatch, join_sources
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.reusable import STORED
from headroom.engines.translation_scores import Pieces, ReferencedSet, sample_rows
from headroom.settings.answers import DecodingSettings

ROWS = {"cpu": 32, "cuda": 256}
"""Sentences that are generated at a time, from several batches, by the type of the device."""


@dataclass(frozen=True)
class Change:
    """A sentence, as a batch, with the first pieces of its new translation, the last of which may be the end mark."""

    sentence: PairBatch
    begun: Pieces


class Seq2SeqSet(ReferencedSet[Seq2SeqModel, PairBatch]):
    """Sentences with references."""

    _sweep: "tuple[Outcome[Pieces], Verifier] | None" = None

    def make_batches(self, model: Seq2SeqModel) -> list[PairBatch]:
        """Make the batches for another model."""
        self._sweep = None
        return model.batches(self.sources, self.references.references, sentences=self.settings.sentences_at_once)

    @torch.inference_mode()
    def judge(self, model: Seq2SeqModel, *, beam: int = 1, length_penalty: float = 1.0) -> Outcome[Pieces]:
        """Translate the set and compute all metrics and their resamples; the search is that of `translate_pieces`."""
        batches = self.batches(model)
        pieces = model.translate_pieces(batches, self.settings, beam=beam, length_penalty=length_penalty)
        nats, tokens = numpy.zeros(len(pieces)), numpy.zeros(len(pieces))
        for batch in batches:
            nats[batch.positions], tokens[batch.positions] = _to_numpy(*model.losses(batch))
        return self.score(pieces, model.texts(pieces), nats, tokens)

    @torch.inference_mode()
    def judge_under(
        self,
        model: Seq2SeqModel,
        intervention: Intervention,
        full: Outcome[Pieces],
        replacements: Replacements | None,
    ) -> Outcome[Pieces]:
        """Evaluate under an intervention, reusing what the plain model computes for the same set."""
        pieces, again = self.translate_under(model, intervention, full, replacements)
        verifier = self._verifier(model, full)
        nats, tokens = numpy.zeros(len(pieces)), numpy.zeros(len(pieces))
        with model.gates.applied(intervention, replacements):
            for number, batch in enumerate(self.batches(model)):
                nats[batch.positions], tokens[batch.positions] = _to_numpy(*verifier.losses(number))
        return self.score(pieces, model.texts(pieces), nats, tokens, again)

    @torch.inference_mode()
    def translate_under(
        self,
        model: Seq2SeqModel,
        intervention: Intervention,
        full: Outcome[Pieces],
        replacements: Replacements | None,
    ) -> tuple[list[Pieces], ndarray]:
        """Return the translations under an intervention, and what `AGAIN` says of each, (n, 2)."""
        verifier = self._verifier(model, full)
        pieces, again = list(full.answers), numpy.zeros((len(full.answers), 2))
        with model.gates.applied(intervention, replacements):
            if intervention.replacement == "resample":  # heads depend on the batch, which is generated as it is
                for batch in self.batches(model):
                    self._renew(model, batch, pieces)
                return pieces, again
            changed: list[Change] = []
            for number, batch in enumerate(self.batches(model)):
                changes = verifier.find_changed(number)
                changed += [Change(take_rows(batch, [row]), begun) for row, begun in changes.items()]
            self._continue(model, changed, pieces)
            self._check(model, intervention, pieces, again)
        return pieces, again

    def forget(self) -> None:
        """Forget the states of the plain model, and its translations as targets."""
        self._sweep = None

    def _verifier(self, model: Seq2SeqModel, full: Outcome[Pieces]) -> "Verifier":
        if self._sweep is None or self._sweep[0] is not full or not self._sweep[1].states.belong_to(model):
            batches = self.batches(model)
            drafts = [self._draft(model, batch, full) for batch in batches]
            self._sweep = full, Verifier(model, batches, drafts, self.settings)
        return self._sweep[1]

    def _draft(self, model: Seq2SeqModel, batch: PairBatch, full: Outcome[Pieces]) -> PairBatch:
        """Return a batch with the plain model's translations as targets."""
        return model.teach(batch, [[*full.answers[place], model.words.end] for place in batch.positions])

    def _renew(self, model: Seq2SeqModel, batch: PairBatch, pieces: list[Pieces], known: Sequence[Pieces] = ()) -> None:
        """Generate the translations of a batch, which begin with known pieces, and store them."""
        found = model.generate(batch, model.limits(batch, self.settings), known=known)
        for place, row in zip(batch.positions, found):
            pieces[place] = row

    def _continue(self, model: Seq2SeqModel, changes: Sequence[Change], pieces: list[Pieces]) -> None:
        """Generate the rest of changed translations, and store them; those that change early are generated together."""
        padding = int(model.tokenizer.pad_token_id)
        waiting = []
        for one in changes:
            if one.begun[-1:] == [model.words.end]:
                pieces[one.sentence.positions[0]] = one.begun[:-1]
            else:
                waiting.append(one)
        waiting.sort(key=lambda one: len(one.begun))
        size = ROWS.get(model.device.type, 32)
        for start in range(0, len(waiting), size):
            group = waiting[start : start + size]
            joined = join_sources([one.sentence for one in group], padding)
            self._renew(model, joined, pieces, [one.begun for one in group])

    def _check(self, model: Seq2SeqModel, intervention: Intervention, pieces: list[Pieces], again: ndarray) -> None:
        """Generate a sample of the translations, and count those that differ."""
        sampled = [(batch, sample_rows(intervention, batch.positions)) for batch in self.batches(model)]
        plain = list(pieces)
        whole = [Change(take_rows(batch, [row]), []) for batch, rows in sampled for row in rows]
        self._continue(model, whole, plain)
        for batch, rows in sampled:
            for place in (batch.positions[row] for row in rows):
                again[place] = 1.0, float(plain[place] != pieces[place])


class Verifier:
    """A model and a set in batches, with the plain model's translations of it and its states on both.

    Attributes:
        states: The states.
    """

    def __init__(
        self, model: Seq2SeqModel, batches: Sequence[PairBatch], drafts: Sequence[PairBatch], settings: DecodingSettings
    ) -> None:
        """Store batches with references, and those with translations within the limits; gates must be clear."""
        self._model, self._drafts = model, drafts
        self._chosen = [self._choose(draft, model.limits(draft, settings)) for draft in drafts]
        self._candidates = model.find_candidates(zip(drafts, self._chosen), STORED)
        limit = STORED - sum(one.size for one in self._candidates)
        self.states = PlainStates(model, [one for pair in zip(batches, drafts) for one in pair], limit=limit)

    def losses(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the losses of a batch as `Seq2SeqModel.losses` does."""
        return self.states.run(2 * number, self._model.losses)

    def find_changed(self, number: int) -> dict[int, Pieces]:
        """Return the rows of a batch whose translation is no longer the best, and the best as far as it is known.

        That is up to the first different piece.
        """
        target, chosen = self._drafts[number].taught[1], self._chosen[number]
        known = self._candidates[number] if number < len(self._candidates) else None
        best = self.states.run(2 * number + 1, lambda batch: self._model.best_pieces(batch, chosen, known))
        wrong = best != target[chosen]
        found: dict[int, Pieces] = {}
        for (row, place), piece in zip(chosen.nonzero()[wrong].tolist(), best[wrong].tolist()):
            found.setdefault(row, [*target[row, self._given : place].tolist(), piece])
        return found

    @property
    def _given(self) -> int:
        """The number of the decoder's first targets that are given, as the code of a language is."""
        return len(self._model.words.begin) - 1

    def _choose(self, draft: PairBatch, limits: Tensor) -> Tensor:
        """Return the places (B, T) at which the next piece is chosen: at its limit (B,) every translation ends."""
        target = draft.taught[1]
        places = torch.arange(target.shape[1], device=target.device) - self._given
        return target.ge(0) & (places < limits[:, None])


def _to_numpy(nats: Tensor, targets: Tensor) -> tuple[ndarray, ndarray]:
    return nats.double().cpu().numpy(), targets.cpu().numpy()
