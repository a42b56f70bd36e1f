"""The engine of translation by transformers: encoder-decoders in the Hub's directory format, and parallel text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Self

from headroom.core.command import add_checkpoints
from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText
from headroom.engines.translation import ParallelEngine

if TYPE_CHECKING:
    from headroom.engines.hub.seq2seq.judging import Seq2SeqSet
    from headroom.engines.hub.seq2seq.model import Seq2SeqModel
    from headroom.engines.workload import Workload


class Seq2SeqEngine(ParallelEngine["Seq2SeqModel"]):
    """Encoder-decoder models of transformers on parallel text."""

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a model, or several checkpoints, the corpus and the device."""
        add_checkpoints(parser, "directory of an encoder-decoder in the Hub's format (epoch<e>/)", several=several)
        parser.add_argument("--corpus", required=True, help="directory with <set>.source and <set>.target")

    @classmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line."""
        return cls(**cls.read_flags(given))

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> Seq2SeqModel:
        """Load a model; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.engines.hub.seq2seq.model import Seq2SeqModel
        return Seq2SeqModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def judged_set(self, name: str, limit: int | None = None) -> Seq2SeqSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.engines.hub.seq2seq.judging import Seq2SeqSet
        return Seq2SeqSet(**self.describe_set(name, limit))

    def workload(self, model: Seq2SeqModel, examples: ParallelText, size: int) -> Workload[Seq2SeqModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.engines.hub.seq2seq.timing import workload

        return workload(model, examples, size)


ENGINE = Seq2SeqEngine
