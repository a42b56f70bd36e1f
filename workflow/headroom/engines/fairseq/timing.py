"""The three timed workloads, and their multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headroom.data.parallel import ParallelText
from headroom.engines.engine import Workload, middle
from headroom.engines.fairseq.batches import Batch
from headroom.engines.fairseq.model import TranslationModel

PARTS = ("encoder", "decoder", "generation")


@dataclass(frozen=True)
class TranslationWorkload(Workload):
    """One batch of an evaluation set, run through a part of a model."""

    batch: Batch
    steps: int
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Pieces of the longest source, and steps of generation."""
        return {"source": self.batch.source.shape[1], "steps": self.steps}

    def action(self, model: TranslationModel, part: str) -> Callable[[], Any]:
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
        counted = 0

        def linear(module: Any, inputs: tuple[torch.Tensor, ...], _: Any) -> None:
            nonlocal counted
            counted += inputs[0].numel() * int(module.out_features)

        def attention(module: Any, _: Any, keywords: dict[str, Any], __: Any) -> None:
            nonlocal counted
            query, key = keywords["query"], keywords.get("key")
            keys = self._keys(module, query, key)
            counted += 2 * query.shape[0] * query.shape[1] * keys * int(module.num_heads) * int(module.head_dim)

        linears = (module for module in model.model.modules() if isinstance(module, nn.Linear))
        handles = [module.register_forward_hook(linear) for module in linears]
        handles += [
            live.attention.register_forward_hook(attention, with_kwargs=True) for live in model.live_sites if live.kept
        ]
        action = self.action(model, part)
        counted = 0
        action()
        for handle in handles:
            handle.remove()
        return counted

    def _keys(self, module: Any, query: torch.Tensor, key: torch.Tensor | None) -> int:
        """Return the number of keys; in generation a decoder site sees half of the final length on average."""
        if getattr(module, "encoder_decoder_attention", False):
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


def _generate(model: TranslationModel, batch: Batch, steps: int) -> None:
    """Decode greedily for a fixed number of steps, never stopping at an end mark."""
    encoded = model.model.encoder(batch.source, src_lengths=batch.lengths)
    state: dict[str, Any] = {}
    output = batch.source.new_full((len(batch.positions), 1), model.target.dictionary.eos())
    for _ in range(steps):
        logits = model.model.decoder(output, encoder_out=encoded, incremental_state=state)[0][:, -1]
        output = torch.cat([output, logits.argmax(-1, keepdim=True)], dim=1)
