"""The engine of classification: BERT-like encoders in the Hub's directory format, and labelled text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.command import add_checkpoints
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.engines.engine import Engine, Outcome
from headroom.settings.base import SamplingSettings
from headroom.settings.evaluation import LabellingSettings

if TYPE_CHECKING:
    from headroom.engines.classification.judging import LabelledSet
    from headroom.engines.classification.model import Batch, ClassificationModel


class ClassificationEngine(Engine):
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

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> ClassificationModel:
        """Load a classifier; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.engines.classification.model import ClassificationModel
        attention = "eager" if maps else "sdpa"
        return ClassificationModel.load(checkpoint, self.given.device, attention, fresh=fresh)

    def examples(self, name: str, limit: int | None = None) -> LabelledText:
        """Read a set's examples; raise for labels that neither the corpus nor the model declares."""
        text = read_labelled(Path(self.given.corpus) / f"{name}.tsv", self._declared())
        return text.taken(range(min(limit, len(text)))) if limit else text

    def sentences(self, examples: LabelledText) -> Sequence[str]:
        """Return the first sentence of each example."""
        return examples.first

    def batches(self, model: ClassificationModel, examples: LabelledText, size: int) -> list[Batch]:
        """Return examples in batches of similar length."""
        return model.batches(examples, examples=size)

    def judged_set(self, name: str, limit: int | None = None) -> LabelledSet:
        """Read a set's examples, evaluated by the given metrics, or those of the corpus, or accuracy."""
        with without_collection():
            from headroom.engines.classification.judging import LabelledSet
        settings = settings_from(self.given, "labelling", LabellingSettings)
        known = self._record() or {"metrics": ["accuracy"]}
        return LabelledSet(
            name=name,
            text=self.examples(name, limit),
            metrics=settings.metrics or tuple(known["metrics"]),
            examples_at_once=settings.examples_at_once,
            resamples=settings_from(self.given, "sampling", SamplingSettings).resamples,
        )

    def final(self, judged: LabelledSet, model: ClassificationModel) -> tuple[Outcome, str, Callable[[str], str]]:
        """Label every example with the likeliest class."""
        return judged.judge(model), "argmax", judged.signature

    def _record(self) -> dict[str, list[str]] | None:
        """Return labels and metrics of the corpus; None for a directory with only TSV files."""
        corpus = Path(self.given.corpus)
        return read_labelled_record(corpus) if (corpus / "corpus.json").is_file() else None

    def _declared(self) -> list[str] | None:
        """Return the labels that the corpus declares, else those of the first checkpoint, if it can be read."""
        if known := self._record():
            return list(known["labels"])
        checkpoint = self.given.checkpoints[0] if "checkpoints" in self.given else self.given.checkpoint
        try:
            return list(json.loads(Path(checkpoint, "config.json").read_bytes())["id2label"].values())
        except (OSError, ValueError, KeyError, AttributeError):
            return None  # loading the model reports the error


ENGINE = ClassificationEngine
