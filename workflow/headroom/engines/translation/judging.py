"""Evaluation sets of translation: decoding, teacher-forced losses, metrics."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
import torch

from headroom.core.bootstrap import Sample, resampled_indices, resampling_weights
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.data.parallel import ParallelText
from headroom.engines.gates import Replacements
from headroom.engines.judged import Outcome
from headroom.engines.translation.batches import Batch
from headroom.engines.translation.metrics import METRICS, ReferenceSet, metric_signature
from headroom.engines.translation.model import TranslationModel
from headroom.settings.experiments import DecodingSettings, EvaluationSettings


class TranslatedSet:
    """Sentences with references; satisfies `headroom.engines.judged.EvaluationSet`."""

    metrics = tuple(METRICS)

    def __init__(self, *, name: str, pairs: ParallelText, settings: DecodingSettings, resamples: int) -> None:
        """Make a set.

        Args:
            name: Its name.
            pairs: Sources and references.
            settings: How sweeps decode it.
            resamples: Bootstrap samples.
        """
        self.name = name
        self.sources = pairs.source
        self.references = ReferenceSet(pairs.target)
        self.settings = settings
        self._weights = resampling_weights(resampled_indices(len(self.sources), resamples))
        self._batches: list[Batch] = []
        self._encoded: list[Batch] = []
        self._batched_for: TranslationModel | None = None

    def batches(self, model: TranslationModel) -> list[Batch]:
        """Return the set in batches for a model."""
        if self._batched_for is not model:
            self._batches = model.batches(
                self.sources, self.references.references, sentences=self.settings.sentences_at_once
            )
            self._encoded = []
            self._batched_for = model
        return self._batches

    @torch.inference_mode()
    def judge(self, model: TranslationModel, batches: Sequence[Batch] | None = None, **search: Any) -> Outcome:
        """Translate the set and compute all metrics and their resamples.

        Args:
            model: The model.
            batches: The set in batches, if these are at hand already encoded.
            search: `beam`, `length_penalty` or `guesses`, as `TranslationModel.translate_pieces` takes them.
        """
        encoded = [model.encoded(batch) for batch in batches or self.batches(model)]
        pieces = model.translate_pieces(encoded, self.settings, **search)
        nats, tokens = numpy.zeros(len(pieces)), numpy.zeros(len(pieces))
        for batch in encoded:
            batch_nats, batch_tokens = model.losses(batch)
            nats[batch.positions] = batch_nats.double().cpu().numpy()
            tokens[batch.positions] = batch_tokens.cpu().numpy()
        return self.outcome(pieces, self.references.sample(model.texts(pieces), nats, tokens))

    def judge_with_beam(
        self, model: TranslationModel, settings: EvaluationSettings
    ) -> tuple[Outcome, str, Callable[[str], str]]:
        """Return the outcome with beam search, how translations were found, and the signature of a metric."""
        outcome = self.judge(model, beam=settings.beam, length_penalty=settings.length_penalty)
        signature = partial(self.signature, beam=settings.beam, lenpen=settings.length_penalty)
        return outcome, f"beam{settings.beam}", signature

    def outcome(self, answers: list[Any], sample: Sample) -> Outcome:
        """Return answers and what they add to the metrics with the scores, also on every resample."""
        return Outcome(answers, sample, sample.scores(), sample.resampled(self._weights))

    def judge_under(
        self, model: TranslationModel, intervention: Intervention, full: Outcome, replacements: Replacements | None
    ) -> Outcome:
        """Judge under an intervention, trying the full model's translations first (exact, and faster).

        Resampled heads depend on the batch, which decoding changes: there is nothing to try first.
        """
        # with the heads of the encoder as they are, the encoder says what it says in the full model
        batches = None if any(head.kind == "E" for head in intervention.heads) else self._encoded_in_full(model)
        guesses = None if intervention.replacement == "resample" else full.answers
        with model.gates.applied(intervention, replacements):
            return self.judge(model, batches, guesses=guesses)

    def signature(self, metric: str, *, beam: int = 1, **more: object) -> str:
        """Return what affects a number measured on this set."""
        return signature(
            metric=metric_signature(metric).replace("|", ","),
            set=self.name,
            sentences=len(self.sources),
            resamples=len(self._weights),
            beam=beam,
            **more,
        )

    @torch.inference_mode()
    def _encoded_in_full(self, model: TranslationModel) -> list[Batch]:
        batches = self.batches(model)
        self._encoded = self._encoded or [model.encoded(batch) for batch in batches]
        return self._encoded
