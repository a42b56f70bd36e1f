"""The workload for timing classifiers, and its multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from headroom.data.labelled import LabelledText
from headroom.engines.engine import Workload, middle
from headroom.engines.hub.classifier.model import Batch, ClassificationModel

PARTS = ("model",)


@dataclass(frozen=True)
class ClassificationWorkload(Workload):
    """One batch of an evaluation set, labelled by the whole model."""

    batch: Batch
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Length of the padded inputs in pieces."""
        return {"length": self.batch.inputs["input_ids"].shape[1]}

    def action(self, model: ClassificationModel, part: str) -> Callable[[], Any]:  # noqa: ARG002
        """Return the timed function: a forward pass."""
        return lambda: model.logits(self.batch)

    def multiply_adds(self, model: ClassificationModel, part: str) -> int:
        """Count the multiply-adds of a forward pass: linear layers, LSTMs and the products of attention, as run."""
        counted = 0

        def linear(module: Any, inputs: tuple[torch.Tensor, ...], _: Any) -> None:
            nonlocal counted
            counted += inputs[0].numel() * int(module.out_features)

        def recurrent(module: Any, inputs: tuple[PackedSequence], _: Any) -> None:
            nonlocal counted  # packed, i.e. without padding; biases do not count
            counted += len(inputs[0].data) * sum(weight.numel() for weight in module.parameters() if weight.dim() == 2)

        counts = {nn.Linear: linear, nn.LSTM: recurrent}
        modules = [module for module in model.model.modules() if type(module) in counts]
        handles = [module.register_forward_hook(counts[type(module)]) for module in modules]
        self.action(model, part)()
        for handle in handles:
            handle.remove()
        examples, length = self.batch.inputs["input_ids"].shape
        return counted + examples * sum(live.multiply_adds(length) for live in model.live_sites)


def workload(model: ClassificationModel, examples: LabelledText, size: int) -> ClassificationWorkload:
    """Return a batch of examples of the set's middle lengths; errors as in `middle`."""
    lengths = [sum(map(len, sentences)) for sentences in examples.inputs]
    (batch,) = model.batches(examples.taken(middle(lengths, size)), examples=size)
    return ClassificationWorkload(batch)
