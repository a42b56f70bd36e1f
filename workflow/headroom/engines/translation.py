"""What the engines of translation have in common: parallel text, and how it is translated."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroom.core.flags import add_settings, settings_from
from headroom.data.parallel import ParallelText, read_pairs
from headroom.engines.batch import Batch
from headroom.engines.engine import Engine, Model
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.settings.answers import DecodingSettings
from headroom.settings.base import SamplingSettings


class ParallelEngine(Engine[Model, ParallelText]):
    """Models that translate, on parallel text."""

    loss = "token-sum"  # summed over the pieces of an example's reference
    training_text = "train.source"

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
        corpus: Path | str,
        device: str = "auto",
        decoding: DecodingSettings | None = None,
        evaluation: EvaluationSettings | None = None,
        sampling: SamplingSettings | None = None,
    ) -> None:
        """Name the data and how answers are computed.

        Args:
            corpus: Directory with `<set>.source` and `<set>.target`.
            device: `auto`, `cpu` or `cuda`.
            decoding: Search in sweeps; None for the defaults, as of the others.
            evaluation: Search for final scores.
            sampling: Number of resamples.
        """
        self.corpus = Path(corpus)
        self.device = device
        self.decoding = decoding or DecodingSettings()
        self.evaluation = evaluation or EvaluationSettings()
        self.sampling = sampling or SamplingSettings()

    @staticmethod
    def read_flags(given: argparse.Namespace) -> dict[str, Any]:
        """Return the arguments of the constructor in a parsed command line."""
        return {
            "corpus": given.corpus,
            "device": given.device,
            "decoding": settings_from(given, "decoding", DecodingSettings),
            "evaluation": settings_from(given, "evaluation", EvaluationSettings),
            "sampling": settings_from(given, "sampling", SamplingSettings),
        }

    def describe_set(self, name: str, limit: int | None = None) -> dict[str, Any]:
        """Return the arguments of an evaluation set of this name, or of its first examples."""
        return {
            "name": name,
            "pairs": self.examples(name, limit),
            "settings": self.decoding,
            "resamples": self.sampling.resamples,
            "evaluation": self.evaluation,
        }

    def examples(self, name: str, limit: int | None = None) -> ParallelText:
        """Read a set's sentence pairs."""
        return read_pairs(self.corpus, name, limit)

    def sentences(self, examples: ParallelText) -> Sequence[str]:
        """Return the sources."""
        return examples.source

    def count_cut(self, model: Any, examples: ParallelText) -> int:
        """Return the number of pairs of which a model reads only the beginning."""
        return int(model.count_cut(*examples.parts))

    def batches(self, model: Any, examples: ParallelText, size: int) -> Sequence[Batch]:
        """Return sentence pairs in batches of similar length."""
        batches: Sequence[Batch] = model.batches(examples.source, examples.target, sentences=size)
        return batches
