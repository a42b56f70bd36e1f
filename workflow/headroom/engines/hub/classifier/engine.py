"""The engine of classification: BERT-like encoders in the Hub's directory format, and labelled text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from headroom.core.command import add_checkpoints
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.engines.engine import Engine
from headroom.settings.answers import LabellingSettings
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    from headroom.engines.hub.classifier.judging import LabelledSet
    from headroom.engines.hub.classifier.model import ClassificationModel, LabelledBatch
    from headroom.engines.workload import Workload


class ClassificationEngine(Engine["ClassificationModel", LabelledText]):
    """Classifiers on labelled text."""

    loss = "cross-entropy"  # of an example's label
    training_text = "train.tsv"

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a classifier, or one per epoch, the corpus and the device."""
        add_checkpoints(parser, "directory of a classifier in the Hub's format (epoch<e>/)", several=several)
        parser.add_argument("--corpus", required=True, help="directory with <set>.tsv: sentence(s) and label")

    @staticmethod
    def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:  # noqa: ARG004
        """Add metrics and resampling."""
        add_settings(parser, labelling=LabellingSettings)
        add_settings(parser, sampling=SamplingSettings)

    def __init__(
        self,
        *,
        corpus: Path | str,
        device: str = "auto",
        labelling: LabellingSettings | None = None,
        sampling: SamplingSettings | None = None,
        labels_of: Path | str | None = None,
    ) -> None:
        """Name the data and how answers are computed.

        Args:
            corpus: Directory with `<set>.tsv`: sentence(s) and label.
            device: `auto`, `cpu` or `cuda`.
            labelling: Metrics and batches; None for the defaults, as of `sampling`.
            sampling: Number of resamples.
            labels_of: A classifier whose labels the corpus may have if it declares none itself.
        """
        self.corpus = Path(corpus)
        self.device = device
        self.labelling = labelling or LabellingSettings()
        self.sampling = sampling or SamplingSettings()
        self._labels_of = labels_of

    @classmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line."""
        return cls(
            corpus=given.corpus,
            device=given.device,
            labelling=settings_from(given, "labelling", LabellingSettings),
            sampling=settings_from(given, "sampling", SamplingSettings),
            labels_of=given.checkpoints[0] if "checkpoints" in given else given.checkpoint,
        )

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> ClassificationModel:
        """Load a classifier; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.engines.hub.classifier.model import ClassificationModel
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
            from headroom.engines.hub.classifier.judging import LabelledSet
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
        from headroom.engines.hub.classifier.timing import workload

        return workload(model, examples, size)

    def _record(self) -> dict[str, list[str]] | None:
        """Return labels and metrics of the corpus; None for a directory with only TSV files."""
        return read_labelled_record(self.corpus) if (self.corpus / "corpus.json").is_file() else None

    def _declared(self) -> list[str] | None:
        """Return the labels that the corpus declares, else those of the classifier named, if it can be read."""
        if known := self._record():
            return list(known["labels"])
        if self._labels_of is None:
            return None
        try:
            return list(json.loads(Path(self._labels_of, "config.json").read_bytes())["id2label"].values())
        except (OSError, ValueError, KeyError, AttributeError):
            return None  # loading the model reports the error


ENGINE = ClassificationEngine
