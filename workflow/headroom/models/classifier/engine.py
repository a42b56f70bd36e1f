"""The engine of classification: BERT-like encoders in the Hub's directory format, and labelled text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.imports import without_collection
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.models.engine import Engine
from headroom.settings.answers import LabellingSettings

if TYPE_CHECKING:
    from headroom.models.classifier.judging import LabelledSet
    from headroom.models.classifier.model import ClassificationModel, LabelledBatch
    from headroom.models.workload import Workload


class ClassificationEngine(Engine["ClassificationModel", LabelledText]):
    """Classifiers on labelled text."""

    loss = "cross-entropy"  # of an example's label
    training_text = "train.tsv"

    def __init__(self, *, labelling: LabellingSettings | None = None, **shared: Any) -> None:
        """Name the data and how answers are computed.

        Args:
            labelling: Metrics and batches; None for the defaults.
            shared: See `Engine`; the corpus has `<set>.tsv`: sentence(s) and label. It may have the labels of the
                checkpoint if it declares none itself.
        """
        super().__init__(**shared)
        self.labelling = labelling or LabellingSettings()

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> ClassificationModel:
        """Load a classifier; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.models.classifier.model import ClassificationModel
        return ClassificationModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def examples(self, name: str, limit: int | None = None) -> LabelledText:
        """Read a set's examples; raise for labels that neither the corpus nor the model declares."""
        text = read_labelled(self.corpus / f"{name}.tsv", self._declared())
        return text.taken(range(min(limit, len(text)))) if limit else text

    def sentences(self, examples: LabelledText) -> Sequence[str]:
        """Return the first sentence of each example."""
        return examples.first

    def count_cut(self, model: ClassificationModel, examples: LabelledText) -> int:
        """Return the number of examples of which a model reads only the beginning."""
        return model.count_cut(examples)

    def batches(self, model: ClassificationModel, examples: LabelledText, size: int) -> list[LabelledBatch]:
        """Return examples in batches of similar length."""
        return model.batches(examples, examples=size)

    def judged_set(self, name: str, limit: int | None = None) -> LabelledSet:
        """Read a set's examples, evaluated by the given metrics, or those of the corpus, or accuracy."""
        with without_collection():
            from headroom.models.classifier.judging import LabelledSet
        known = self._record() or {"metrics": ["accuracy"]}
        return LabelledSet(
            name=name,
            text=self.examples(name, limit),
            metrics=self.labelling.metrics or tuple(known["metrics"]),
            examples_at_once=self.labelling.examples_at_once,
            resamples=self.sampling.resamples,
        )

    def workload(self, model: ClassificationModel, examples: LabelledText, size: int) -> Workload[ClassificationModel]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.models.classifier.model import workload

        return workload(model, examples, size)

    def _record(self) -> dict[str, list[str]] | None:
        """Return labels and metrics of the corpus; None for a directory with only TSV files."""
        return read_labelled_record(self.corpus) if (self.corpus / "corpus.json").is_file() else None

    def _declared(self) -> list[str] | None:
        """Return the labels that the corpus declares, else those of the classifier named, if it can be read."""
        if known := self._record():
            return list(known["labels"])
        if self.checkpoint is None:
            return None
        try:
            return list(json.loads(Path(self.checkpoint, "config.json").read_bytes())["id2label"].values())
        except (OSError, ValueError, KeyError, AttributeError):
            return None  # loading the model reports the error


ENGINE = ClassificationEngine
