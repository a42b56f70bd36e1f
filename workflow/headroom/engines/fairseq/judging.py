"""Evaluation sets of translation by fairseq: decoding and teacher-forced losses."""

import numpy
import torch

from headroom.core.interventions import Intervention
from headroom.engines.engine import Outcome
from headroom.engines.fairseq.batches import ParallelBatch
from headroom.engines.fairseq.decoding import encode
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.sweeps import Sweep, compute_nats
from headroom.engines.gates import Replacements
from headroom.engines.translation_scores import Pieces, ReferencedSet


class TranslatedSet(ReferencedSet[TranslationModel, ParallelBatch]):
    """Sentences with references."""

    _sweep: tuple[Outcome[Pieces], Sweep] | None = None

    def make_batches(self, model: TranslationModel) -> list[ParallelBatch]:
        """Make the batches for another model."""
        self._sweep = None
        return model.batches(self.sources, self.references.references, sentences=self.settings.sentences_at_once)

    @torch.inference_mode()
    def judge(self, model: TranslationModel, *, beam: int = 1, length_penalty: float = 1.0) -> Outcome[Pieces]:
        """Translate the set and compute all metrics and their resamples.

        The search is that of `TranslationModel.translate_pieces`.
        """
        pieces = model.translate_pieces(self.batches(model), self.settings, beam=beam, length_penalty=length_penalty)
        nats, tokens = numpy.zeros(len(pieces)), numpy.zeros(len(pieces))
        for batch in self.batches(model):
            encoded = encode(model.model.encoder, batch)
            batch_nats, batch_tokens = compute_nats(model.model.decoder, batch, encoded, model.marks)
            nats[batch.positions] = batch_nats.cpu().numpy()
            tokens[batch.positions] = batch_tokens.cpu().numpy()
        return self.score(pieces, model.texts(pieces), nats, tokens)

    def judge_under(
        self,
        model: TranslationModel,
        intervention: Intervention,
        full: Outcome[Pieces],
        replacements: Replacements | None,
    ) -> Outcome[Pieces]:
        """Evaluate under an intervention, reusing what the plain model computes for the same set."""
        sweep = self._sweep_of(model, full)
        with model.gates.applied(intervention, replacements):
            found = sweep.result(intervention)
        return self.score(found.pieces, model.texts(found.pieces), found.nats, found.targets, found.again)

    def forget(self) -> None:
        """Forget the states of the plain model."""
        self._sweep = None

    def _sweep_of(self, model: TranslationModel, full: Outcome[Pieces]) -> Sweep:
        batches = self.batches(model)
        if self._sweep is None or self._sweep[0] is not full:
            self._sweep = full, Sweep(model, batches, full.answers, self.settings)
        return self._sweep[1]
