"""The three timed workloads, and their multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from headroom.data.parallel import ParallelText
from headroom.engines.fairseq.batches import ParallelBatch
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.workload import Workload, middle

PARTS = ("encoder", "decoder", "generation")


@dataclass(frozen=True)
class TranslationWorkload(Workload[TranslationModel]):
    """One batch of an evaluation set, run through a part of a model."""

    batch: ParallelBatch
    steps: int
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Pieces of the longest source, and steps of generation."""
        return {"source": self.batch.source.shape[1], "steps": self.steps}

    def action(self, model: TranslationModel, part: str) -> Callable[[], object]:
        """Return the timed function: encoding, teacher-forced decoding, or greedy generation.

        Generation runs a fixed number of steps, so that the amount of work does not depend on the output.
        """
        batch = self.batch
        encoded = model.model.encoder(batch.source, src_lengths=batch.lengths)
        if part == "encoder":
            return lambda: model.model.encoder(batch.source, src_lengths=batch.lengths)
        if part == "decoder":
            return lambda: model.model.decoder(batch.previous, encoder_out=encoded)
        return lambda: _generate(model, batch, self.steps)


def workload(model: TranslationModel, examples: ParallelText, size: int) -> TranslationWorkload:
    """Return a batch of sentences of the set's middle lengths; errors as in `middle`."""
    chosen = middle([len(source) for source in examples.source], size)
    sources, references = ([side[i] for i in chosen] for side in (examples.source, examples.target))
    (batch,) = model.batches(sources, references, sentences=size)
    assert batch.target is not None
    return TranslationWorkload(batch, steps=batch.target.shape[1])


def _generate(model: TranslationModel, batch: ParallelBatch, steps: int) -> None:
    """Decode greedily for a fixed number of steps, never stopping at an end mark."""
    encoded = model.model.encoder(batch.source, src_lengths=batch.lengths)
    state: dict[str, dict[str, Tensor | None]] = {}
    output = batch.source.new_full((len(batch.positions), 1), model.target.dictionary.eos())
    for _ in range(steps):
        logits = model.model.decoder(output, encoder_out=encoded, incremental_state=state)[0][:, -1]
        output = torch.cat([output, logits.argmax(-1, keepdim=True)], dim=1)
