"""The three timed workloads of encoder-decoder models of transformers, and their multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from headroom.data.parallel import ParallelText
from headroom.models.model import count_bytes
from headroom.models.seq2seq.batches import PairBatch
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.workload import Workload, middle

PARTS = ("encoder", "decoder", "generation")


@dataclass(frozen=True)
class Seq2SeqWorkload(Workload[Seq2SeqModel]):
    """One batch of an evaluation set, run through a part of a model."""

    batch: PairBatch
    parts = PARTS

    @property
    def steps(self) -> int:
        """Positions of the decoder: of the references, and steps of generation."""
        return int(self.batch.taught[0].shape[1])

    @property
    def shape(self) -> dict[str, int]:
        """Tokens of the longest source, and steps of generation."""
        return {"source": self.batch.source.shape[1], "steps": self.steps}

    def action(self, model: Seq2SeqModel, part: str) -> Callable[[], object]:
        """Return the timed function: encoding, teacher-forced decoding, or greedy generation with a cache.

        Generation runs a fixed number of steps, so that the amount of work does not depend on the output.
        """
        sources = replace(self.batch, previous=None, target=None)
        if part == "encoder":
            return lambda: model.run(sources)
        whole: Any = model.model
        if part == "decoder":
            taught = replace(self.batch, encoded=model.encode_sources(sources))
            return lambda: model.logits(taught)
        steps = {"min_new_tokens": self.steps, "max_new_tokens": self.steps}
        inputs = {"input_ids": self.batch.source, "attention_mask": self.batch.mask}
        return lambda: whole.generate(**inputs, **steps, do_sample=False, num_beams=1)

    def cache_bytes(self, model: Seq2SeqModel, part: str) -> int | None:
        """Return the size of the cache of generation, for sources and references as long as this batch's."""
        if part != "generation":
            return None
        whole: Any = model.model
        inputs = {"input_ids": self.batch.source, "attention_mask": self.batch.mask}
        return count_bytes(whole(**inputs, decoder_input_ids=self.batch.taught[0], use_cache=True))


def workload(model: Seq2SeqModel, examples: ParallelText, size: int) -> Seq2SeqWorkload:
    """Return a batch of sentences of the set's middle lengths; errors as in `middle`."""
    chosen = middle([len(source) for source in examples.source], size)
    sources, references = ([side[i] for i in chosen] for side in (examples.source, examples.target))
    (batch,) = model.batches(sources, references, sentences=size)
    return Seq2SeqWorkload(batch)
