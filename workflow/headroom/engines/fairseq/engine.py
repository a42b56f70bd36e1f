"""The engine of translation by fairseq: its Transformers, their vocabulary, and parallel text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from headroom.core.command import add_translation_model
from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText
from headroom.engines.translation import ParallelEngine

if TYPE_CHECKING:
    from headroom.engines.fairseq.judging import TranslatedSet
    from headroom.engines.fairseq.model import TranslationModel
    from headroom.engines.workload import Workload


class TranslationEngine(ParallelEngine["TranslationModel"]):
    """Transformers of fairseq on parallel text."""

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a checkpoint, or one per epoch, its vocabulary, the corpus and the device."""
        add_translation_model(parser, several=several)

    def __init__(self, *, vocabulary: Path | str, **others: Any) -> None:
        """Name the data and how answers are computed.

        Args:
            vocabulary: Directory with sentencepiece.model (or byte-pair codes) and both dictionaries.
            others: The arguments of `ParallelEngine`.
        """
        super().__init__(**others)
        self.vocabulary = str(vocabulary)

    @classmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line."""
        return cls(vocabulary=given.vocabulary, **cls.read_flags(given))

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> TranslationModel:  # noqa: ARG002
        """Load a checkpoint with the vocabulary given; every model of fairseq can show attention weights."""
        with without_collection():
            from headroom.engines.fairseq.model import TranslationModel
        return TranslationModel.load(checkpoint, self.vocabulary, self.device, fresh=fresh)

    def judged_set(self, name: str, limit: int | None = None) -> TranslatedSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.engines.fairseq.judging import TranslatedSet
        return TranslatedSet(**self.describe_set(name, limit))

    def workload(self, model: TranslationModel, examples: ParallelText, size: int) -> Workload[TranslationModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.engines.fairseq.timing import workload

        return workload(model, examples, size)


ENGINE = TranslationEngine
