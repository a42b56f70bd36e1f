"""The engine of translation by transformers: encoder-decoders in the Hub's directory format, and parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from headroom.core.command import add_checkpoints
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText, read_pairs
from headroom.engines.engine import Engine
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.settings.answers import DecodingSettings
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    from headroom.engines.hub.seq2seq.batches import PairBatch
    from headroom.engines.hub.seq2seq.judging import Seq2SeqSet
    from headroom.engines.hub.seq2seq.model import Seq2SeqModel
    from headroom.engines.workload import Workload


class Seq2SeqEngine(Engine["Seq2SeqModel", ParallelText]):
    """Encoder-decoder models of transformers on parallel text."""

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

    def examples(self, name: str, limit: int | None = None) -> ParallelText:
        """Read a set's sentence pairs."""
        return read_pairs(self.corpus, name, limit)

    def sentences(self, examples: ParallelText) -> Sequence[str]:
        """Return the sources."""
        return examples.source

    def count_cut(self, model: Seq2SeqModel, examples: ParallelText) -> int:
        """Return the number of pairs of which a model reads only the beginning."""
        return model.count_cut(*examples.parts)

    def batches(self, model: Seq2SeqModel, examples: ParallelText, size: int) -> Sequence[PairBatch]:
        """Return sentence pairs in batches of similar length."""
        return model.batches(examples.source, examples.target, sentences=size)

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a model, or several checkpoints, the corpus and the device."""
        add_checkpoints(parser, "directory of an encoder-decoder in the Hub's format (epoch<e>/)", several=several)
        parser.add_argument("--corpus", required=True, help="directory with <set>.source and <set>.target")

    @classmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line."""
        return cls(
            corpus=given.corpus,
            device=given.device,
            decoding=settings_from(given, "decoding", DecodingSettings),
            evaluation=settings_from(given, "evaluation", EvaluationSettings),
            sampling=settings_from(given, "sampling", SamplingSettings),
        )

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> Seq2SeqModel:
        """Load a model; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.engines.hub.seq2seq.model import Seq2SeqModel
        return Seq2SeqModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def judged_set(self, name: str, limit: int | None = None) -> Seq2SeqSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.engines.hub.seq2seq.judging import Seq2SeqSet
        return Seq2SeqSet(
            name=name,
            pairs=self.examples(name, limit),
            settings=self.decoding,
            resamples=self.sampling.resamples,
            evaluation=self.evaluation,
        )

    def workload(self, model: Seq2SeqModel, examples: ParallelText, size: int) -> Workload[Seq2SeqModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.engines.hub.seq2seq.timing import workload

        return workload(model, examples, size)


ENGINE = Seq2SeqEngine
