"""The engine of translation: Transformers of fairseq, their vocabulary, and parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from headroom.core.command import add_translation_model
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText, read_pairs
from headroom.engines.engine import Engine
from headroom.experiments.evaluation.settings import EvaluationSettings
from headroom.settings.answers import DecodingSettings
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    from headroom.engines.fairseq.batches import ParallelBatch
    from headroom.engines.fairseq.judging import TranslatedSet
    from headroom.engines.fairseq.model import TranslationModel
    from headroom.engines.workload import Workload


class TranslationEngine(Engine["TranslationModel", ParallelText]):
    """Transformers of fairseq on parallel text."""

    loss = "token-sum"  # summed over the pieces of an example's reference
    training_text = "train.source"

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a checkpoint, or one per epoch, its vocabulary, the corpus and the device."""
        add_translation_model(parser, several=several)

    @staticmethod
    def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:
        """Add decoding and resampling; for final scores also the beam."""
        if final:
            add_settings(parser, evaluation=EvaluationSettings)
        add_settings(parser, decoding=DecodingSettings)
        add_settings(parser, sampling=SamplingSettings)

    def __init__(
        self,
        *,
        vocabulary: Path | str,
        corpus: Path | str,
        device: str = "auto",
        decoding: DecodingSettings | None = None,
        evaluation: EvaluationSettings | None = None,
        sampling: SamplingSettings | None = None,
    ) -> None:
        """Name the data and how answers are computed.

        Args:
            vocabulary: Directory with sentencepiece.model (or byte-pair codes) and both dictionaries.
            corpus: Directory with `<set>.source` and `<set>.target`.
            device: `auto`, `cpu` or `cuda`.
            decoding: Search in sweeps; None for the defaults, as of the others.
            evaluation: Search for final scores.
            sampling: Number of resamples.
        """
        self.vocabulary = str(vocabulary)
        self.corpus = Path(corpus)
        self.device = device
        self.decoding = decoding or DecodingSettings()
        self.evaluation = evaluation or EvaluationSettings()
        self.sampling = sampling or SamplingSettings()

    @classmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line."""
        return cls(
            vocabulary=given.vocabulary,
            corpus=given.corpus,
            device=given.device,
            decoding=settings_from(given, "decoding", DecodingSettings),
            evaluation=settings_from(given, "evaluation", EvaluationSettings),
            sampling=settings_from(given, "sampling", SamplingSettings),
        )

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> TranslationModel:  # noqa: ARG002
        """Load a checkpoint with the vocabulary given; every model of fairseq can show attention weights."""
        with without_collection():
            from headroom.engines.fairseq.model import TranslationModel
        return TranslationModel.load(checkpoint, self.vocabulary, self.device, fresh=fresh)

    def examples(self, name: str, limit: int | None = None) -> ParallelText:
        """Read a set's sentence pairs."""
        return read_pairs(self.corpus, name, limit)

    def sentences(self, examples: ParallelText) -> Sequence[str]:
        """Return the sources."""
        return examples.source

    def batches(self, model: TranslationModel, examples: ParallelText, size: int) -> list[ParallelBatch]:
        """Return sentence pairs in batches of similar length."""
        return model.batches(examples.source, examples.target, sentences=size)

    def judged_set(self, name: str, limit: int | None = None) -> TranslatedSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.engines.fairseq.judging import TranslatedSet
        pairs = self.examples(name, limit)
        return TranslatedSet(
            name=name,
            pairs=pairs,
            settings=self.decoding,
            resamples=self.sampling.resamples,
            evaluation=self.evaluation,
        )

    def workload(self, model: TranslationModel, examples: ParallelText, size: int) -> Workload[TranslationModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.engines.fairseq.timing import workload

        return workload(model, examples, size)


ENGINE = TranslationEngine
