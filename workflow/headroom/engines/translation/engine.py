"""The engine of translation: Transformers of fairseq, their vocabulary, and parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.command import add_translation_model
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText
from headroom.engines.engine import Engine, Outcome
from headroom.settings.base import SamplingSettings
from headroom.settings.evaluation import DecodingSettings, EvaluationSettings

if TYPE_CHECKING:
    from headroom.engines.translation.batches import Batch
    from headroom.engines.translation.judging import TranslatedSet
    from headroom.engines.translation.model import TranslationModel


class TranslationEngine(Engine):
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

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> TranslationModel:  # noqa: ARG002
        """Load a checkpoint with the vocabulary given; every model of fairseq can show attention weights."""
        with without_collection():
            from headroom.engines.translation.model import TranslationModel
        return TranslationModel.load(checkpoint, self.given.vocabulary, self.given.device, fresh=fresh)

    def examples(self, name: str, limit: int | None = None) -> ParallelText:
        """Read a set's sentence pairs."""
        return read_pairs(self.given.corpus, name, limit)

    def sentences(self, examples: ParallelText) -> Sequence[str]:
        """Return the sources."""
        return examples.source

    def batches(self, model: TranslationModel, examples: ParallelText, size: int) -> list[Batch]:
        """Return sentence pairs in batches of similar length."""
        return model.batches(examples.source, examples.target, sentences=size)

    def judged_set(self, name: str, limit: int | None = None) -> TranslatedSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.engines.translation.judging import TranslatedSet
        settings_from(self.given, "evaluation", EvaluationSettings)  # wrong values are reported before text is read
        decoding = settings_from(self.given, "decoding", DecodingSettings)
        resamples = settings_from(self.given, "sampling", SamplingSettings).resamples
        return TranslatedSet(name=name, pairs=self.examples(name, limit), settings=decoding, resamples=resamples)

    def final(self, judged: TranslatedSet, model: TranslationModel) -> tuple[Outcome, str, Callable[[str], str]]:
        """Translate with a beam."""
        return judged.judge_with_beam(model, settings_from(self.given, "evaluation", EvaluationSettings))


ENGINE = TranslationEngine


def read_pairs(corpus: Path | str, name: str, limit: int | None = None) -> ParallelText:
    """Read the sources and the references of a set.

    Args:
        corpus: The directory with `<name>.source` and `<name>.target`.
        name: The set, e.g. `test`.
        limit: Number of sentences from the start; None for all.

    Raises:
        HeadroomError: If a file is missing or empty, or the two differ in length.
    """
    paths = [Path(corpus) / f"{name}.{side}" for side in ("source", "target")]
    sources, references = (read_lines(path) for path in paths)
    if len(sources) != len(references):
        raise HeadroomError(
            f"{paths[0]}: {len(sources)} lines, but {paths[1]} has {len(references)}; give aligned files"
        )
    if not sources:
        raise HeadroomError(f"{paths[0]}: empty file; write one sentence a line")
    return ParallelText(sources[:limit], references[:limit])
