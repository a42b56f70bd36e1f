"""Judging models on evaluation sets: decoding, losses, metrics and paired comparisons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy
import torch

from headroom.ground.bootstrap import (
    Sample,
    paired_difference,
    resampled_indices,
    resampling_weights,
    tail_p,
)
from headroom.ground.corrections import holm
from headroom.ground.heads import Head
from headroom.ground.tables import signature
from headroom.ground.translation_metrics import ReferenceSet, metric_signature
from headroom.methods.pairs import read_pairs
from headroom.models.translation.model import Batch, TranslationModel
from headroom.settings.decoding import DecodingSettings

METRICS = ("bleu", "chrf", "exact", "loss")


@dataclass(frozen=True)
class Outcome:
    """A system on a set: its translations, statistics, scores, and scores on every resample."""

    pieces: list[list[int]]
    sample: Sample
    scores: dict[str, float]
    resampled: dict[str, numpy.ndarray]


class EvaluationSet:
    """Sentences with references that models are judged on; one object serves many models."""

    def __init__(
        self,
        *,
        name: str,
        sources: Sequence[str],
        references: Sequence[str],
        settings: DecodingSettings,
        resamples: int,
    ) -> None:
        self.name = name
        self.sources = list(sources)
        self.references = ReferenceSet(references)
        self.settings = settings
        self._weights = resampling_weights(resampled_indices(len(self.sources), resamples))
        self._batches: list[Batch] = []
        self._batched_for: TranslationModel | None = None

    def batches(self, model: TranslationModel) -> list[Batch]:
        """Return the set in batches for a model."""
        if self._batched_for is not model:
            self._batches = model.batches(
                self.sources, self.references.references, sentences=self.settings.sentences_at_once
            )
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
        sample = self.references.sample(model.texts(pieces), nats, tokens)
        return Outcome(pieces, sample, sample.scores(), sample.resampled(self._weights))

    def signature(self, metric: str, **more: object) -> str:
        """Return what affects a number measured on this set."""
        return signature(
            metric=metric_signature(metric).replace("|", ","),
            set=self.name,
            sentences=len(self.sources),
            resamples=len(self._weights),
            **more,
        )


class Judge:
    """A model on one set: every profile is decoded once, however many orders come to it."""

    def __init__(self, model: TranslationModel, evaluation_set: EvaluationSet) -> None:
        self.model = model
        self.set = evaluation_set
        self.outcome = cache(self._outcome)

    @property
    def full(self) -> Outcome:
        """The outcome without any head removed."""
        return self.outcome(frozenset())

    def compared(self, removed: frozenset[Head]) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield, per metric, the columns from `metric` to `p` for a profile, and p without a floor."""
        full, other = self.full, self.outcome(removed)
        for metric in METRICS:
            value = other.scores[metric]
            difference = value - full.scores[metric]
            before, after = full.resampled[metric], other.resampled[metric]
            compared = paired_difference(before, after, difference)
            columns = {
                "set": self.set.name,
                "metric": metric,
                "value": value,
                "full": full.scores[metric],
                **compared._asdict(),
            }
            yield columns, tail_p(before, after, difference)

    def _outcome(self, removed: frozenset[Head]) -> Outcome:
        guesses = self.full.pieces if removed else None
        # without heads of the encoder removed, the encoder says what it says in the full model
        batches = None if any(head.kind == "E" for head in removed) else self._full_batches
        with self.model.gates.masked(removed):
            return self.set.judge(self.model, batches, guesses=guesses)

    @cached_property
    @torch.inference_mode()
    def _full_batches(self) -> list[Batch]:
        return [self.model.encoded(batch) for batch in self.set.batches(self.model)]


def comparisons(judge: Judge, profiles: Sequence[tuple[dict[str, Any], frozenset[Head]]]) -> list[dict[str, Any]]:
    """Compare profiles with the full model; Holm's correction is over the profiles, per metric.

    p is the paired bootstrap's. Sampled p-values have a floor that a correction over many heads lifts
    above any level, so p_holm corrects p-values from the bootstrap's standard error instead.

    Args:
        judge: The model on a set.
        profiles: The leading columns of each profile's rows, and the profile.

    Returns:
        A row per profile and metric: the leading columns, `set` to `p_holm`, `signature`.
    """
    rows: list[dict[str, Any]] = []
    tails: list[float] = []
    for leading, removed in profiles:
        for columns, tail in judge.compared(removed):
            rows.append({**leading, **columns, "signature": judge.set.signature(columns["metric"], beam=1)})
            tails.append(tail)
    for metric in METRICS:
        mine = [index for index, row in enumerate(rows) if row["metric"] == metric]
        for index, corrected in zip(mine, holm([tails[index] for index in mine])):
            rows[index]["p_holm"] = corrected
    return rows


def load_set(
    corpus: Path | str, name: str, settings: DecodingSettings, *, resamples: int, sentences: int | None = None
) -> EvaluationSet:
    """Read `<name>.source` and `<name>.target` of a corpus directory.

    Args:
        corpus: The directory.
        name: The set, e.g. `test`.
        settings: How sweeps decode it.
        resamples: Bootstrap samples.
        sentences: Only the first so many sentences; None for all.

    Raises:
        HeadroomError: If a file is missing, the two differ in length, or there is no sentence.
    """
    sources, references = read_pairs(corpus, name, sentences)
    return EvaluationSet(
        name=name,
        sources=sources,
        references=references,
        settings=settings,
        resamples=resamples,
    )
