"""The three timed workloads, and their multiply-adds."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor

from headroom.data.parallel import ParallelText
from headroom.engines.fairseq.attention import FusedAttention
from headroom.engines.fairseq.batches import ParallelBatch
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.workload import Workload, count_multiply_adds, middle

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

    def multiply_adds(self, model: TranslationModel, part: str) -> int:
        """Count the multiply-adds of a part: every linear layer and both attention products, as run."""
        action = self.action(model, part)
        counted: list[int] = []

        def attention(module: FusedAttention, _: object, keywords: dict[str, Tensor], __: object) -> None:
            query = keywords["query"]
            keys = self._keys(module, query, keywords.get("key"))
            counted.append(2 * query.shape[0] * query.shape[1] * keys * module.num_heads * module.head_dim)

        with ExitStack() as hooks:
            for live in (live for live in model.live_sites if live.kept):
                hooks.callback(live.attention.register_forward_hook(attention, with_kwargs=True).remove)
            return count_multiply_adds(model.model, action) + sum(counted)

    def _keys(self, module: FusedAttention, query: Tensor, key: Tensor | None) -> int:
        """Return the number of keys; in generation a decoder site sees half of the final length on average."""
        if module.encoder_decoder_attention:
            return self.batch.source.shape[1]
        if query.shape[0] == 1 and self.steps > 1:
            return (self.steps + 1) // 2
        return key.shape[0] if key is not None else query.shape[0]


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
