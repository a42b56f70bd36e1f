"""Evaluation sets of translation by transformers: generation, and teacher-forced losses.

Under an intervention most translations do not change. Each is verified in one teacher-forced pass over the translation
of the plain model, which shares states below the first changed site with the plain model's pass; those with a piece
that is not the best one are generated again. The results are those of plain generation, except for ties within rounding
errors: a sample of sentences is generated as well, and differences are counted.
"""

from collections.abc import Sequence

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.interventions import Intervention
from headroom.engines.engine import Outcome
from headroom.engines.gates import Replacements
from headroom.engines.head_model import take_rows
from headroom.engines.hub.model import sum_nats
from headroom.engines.hub.plain_states import PlainStates
from headroom.engines.hub.seq2seq.batches import PairBatch, join_sources
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.translation_scores import Pieces, ReferencedSet, sample_rows

ROWS = 256
"""Sentences that are generated at a time, from several batches."""


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
        batches = self.batches(model)
        if self._sweep is None or self._sweep[0] is not full or not self._sweep[1].states.belong_to(model):
            self._sweep = full, Verifier(model, batches, [self._draft(model, batch, full) for batch in batches])
        verifier = self._sweep[1]
        pieces, again = list(full.answers), numpy.zeros((len(full.answers), 2))
        nats, tokens = numpy.zeros(len(pieces)), numpy.zeros(len(pieces))
        resampled = intervention.replacement == "resample"
        with model.gates.applied(intervention, replacements):
            changed = []
            for number, batch in enumerate(batches):
                nats[batch.positions], tokens[batch.positions] = _to_numpy(*verifier.losses(number))
                if resampled:  # heads depend on the batch, which is generated as it is
                    self._renew(model, [batch], pieces)
                    continue
                rows = verifier.find_changed(number, model.limits(batch, self.settings))
                changed += [take_rows(batch, rows)] if rows else []
            self._renew(model, changed, pieces)
            if not resampled:
                self._check(model, intervention, pieces, again)
        return self.score(pieces, model.texts(pieces), nats, tokens, again)

    def forget(self) -> None:
        """Forget the states of the plain model, and its translations as targets."""
        self._sweep = None

    def _draft(self, model: Seq2SeqModel, batch: PairBatch, full: Outcome[Pieces]) -> PairBatch:
        """Return a batch with the plain model's translations as targets."""
        return model.teach(batch, [[*full.answers[place], model.words.end] for place in batch.positions])

    def _renew(self, model: Seq2SeqModel, batches: Sequence[PairBatch], pieces: list[Pieces]) -> None:
        """Generate the translations of batches, together as far as `ROWS` allows, and store them."""
        for group in group_batches(batches):
            joined = join_sources(group, int(model.tokenizer.pad_token_id))
            for place, row in zip(joined.positions, model.generate(joined, model.limits(joined, self.settings))):
                pieces[place] = row

    def _check(self, model: Seq2SeqModel, intervention: Intervention, pieces: list[Pieces], again: ndarray) -> None:
        """Generate a sample of the translations, and count those that differ."""
        sampled = [(batch, sample_rows(intervention, batch.positions)) for batch in self.batches(model)]
        plain = list(pieces)
        self._renew(model, [take_rows(batch, rows) for batch, rows in sampled if rows], plain)
        for batch, rows in sampled:
            for place in (batch.positions[row] for row in rows):
                again[place] = 1.0, float(plain[place] != pieces[place])


class Verifier:
    """A model and a set in batches, with the plain model's translations of it and its states on both.

    Attributes:
        states: The states.
    """

    def __init__(self, model: Seq2SeqModel, batches: Sequence[PairBatch], drafts: Sequence[PairBatch]) -> None:
        """Store batches with references, and those with translations; gates must be clear."""
        self._model, self._batches, self._drafts = model, batches, drafts
        self.states = PlainStates(model, [one for pair in zip(batches, drafts) for one in pair])

    def losses(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the losses of a batch as `Seq2SeqModel.losses` does."""
        return sum_nats(self.states.logits(2 * number), self._batches[number].taught[1])

    def find_changed(self, number: int, limits: Tensor) -> list[int]:
        """Return the rows of a batch whose translation is no longer the best; at its limit every translation ends."""
        target = self._drafts[number].taught[1]
        best = self._model.best_pieces(self.states.logits(2 * number + 1))
        places = torch.arange(target.shape[1], device=target.device) - len(self._model.words.begin) + 1
        chosen = target.ge(0) & (places < limits[:, None])
        rows: list[int] = (best.ne(target) & chosen).any(1).nonzero().squeeze(1).tolist()
        return rows


def group_batches(batches: Sequence[PairBatch]) -> list[list[PairBatch]]:
    """Return batches in groups of `ROWS` rows at most, if a single batch has not more."""
    groups: list[list[PairBatch]] = []
    size = 0
    for batch in batches:
        size += len(batch.positions)
        if not groups or size > ROWS:
            groups, size = [*groups, []], len(batch.positions)
        groups[-1].append(batch)
    return groups


def _to_numpy(nats: Tensor, targets: Tensor) -> tuple[ndarray, ndarray]:
    return nats.double().cpu().numpy(), targets.cpu().numpy()
