"""The engine of translation by transformers: encoder-decoders in the Hub's directory format, and parallel text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.imports import without_collection
from headroom.data.parallel import ParallelText, read_pairs
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.models.engine import Engine
from headroom.settings.answers import DecodingSettings

if TYPE_CHECKING:
    from headroom.models.seq2seq.batches import PairBatch
    from headroom.models.seq2seq.judging import Seq2SeqSet
    from headroom.models.seq2seq.model import Seq2SeqModel
    from headroom.models.workload import Workload


class Seq2SeqEngine(Engine["Seq2SeqModel", ParallelText]):
    """Encoder-decoder models of transformers on parallel text."""

    loss = "token-sum"  # summed over the tokens of an example's reference
    training_text = "train.source"

    def __init__(
        self,
        *,
        decoding: DecodingSettings | None = None,
        evaluation: EvaluationSettings | None = None,
        **shared: Any,
    ) -> None:
        """Name the data and how answers are computed.

        Args:
            decoding: Search in sweeps; None for the defaults, as of `evaluation`.
            evaluation: Search for final scores.
            shared: See `Engine`; the corpus has `<set>.source` and `<set>.target`.
        """
        super().__init__(**shared)
        self.decoding = decoding or DecodingSettings()
        self.evaluation = evaluation or EvaluationSettings()

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

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> Seq2SeqModel:
        """Load a model; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.models.seq2seq.model import Seq2SeqModel
        return Seq2SeqModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def judged_set(self, name: str, limit: int | None = None) -> Seq2SeqSet:
        """Read a set's sources and references."""
        with without_collection():
            from headroom.models.seq2seq.judging import Seq2SeqSet
        return Seq2SeqSet(
            name=name,
            pairs=self.examples(name, limit),
            settings=self.decoding,
            resamples=self.sampling.resamples,
            evaluation=self.evaluation,
        )

    def workload(self, model: Seq2SeqModel, examples: ParallelText, size: int) -> Workload[Seq2SeqModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.models.seq2seq.timing import workload

        return workload(model, examples, size)


ENGINE = Seq2SeqEngine
