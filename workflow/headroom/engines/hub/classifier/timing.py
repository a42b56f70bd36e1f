"""The workload for timing classifiers, and its multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass

from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier.model import ClassificationModel, LabelledBatch
from headroom.engines.workload import Workload, middle

PARTS = ("model",)


@dataclass(frozen=True)
class ClassificationWorkload(Workload[ClassificationModel]):
    """One batch of an evaluation set, labelled by the whole model."""

    batch: LabelledBatch
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Length of the padded inputs in pieces."""
        return {"length": self.batch.pieces.shape[1]}

    def action(self, model: ClassificationModel, part: str) -> Callable[[], object]:  # noqa: ARG002
        """Return the timed function: a forward pass."""
        return lambda: model.logits(self.batch)


def workload(model: ClassificationModel, examples: LabelledText, size: int) -> ClassificationWorkload:
    """Return a batch of examples of the set's middle lengths; errors as in `middle`."""
    lengths = [sum(map(len, sentences)) for sentences in examples.inputs]
    (batch,) = model.batches(examples.taken(middle(lengths, size)), examples=size)
    return ClassificationWorkload(batch)
