"""Evaluation sets of classification: predictions, losses, metrics."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from headroom.core.bootstrap import Sample, resampled_indices, resampling_weights
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.data.labelled import LabelledText
from headroom.engines.classification.metrics import LabelSet, metric_signature
from headroom.engines.classification.model import Batch, ClassificationModel
from headroom.engines.gates import Replacements
from headroom.engines.judged import Outcome


class LabelledSet:
    """Labelled examples; satisfies `headroom.engines.judged.EvaluationSet`."""

    def __init__(
        self, *, name: str, text: LabelledText, metrics: Sequence[str], examples_at_once: int, resamples: int
    ) -> None:
        """Make a set.

        Args:
            name: Its name.
            text: The examples; their labels must be labels of the models judged.
            metrics: What the task asks for, the main metric first; the loss is added.
            examples_at_once: Examples in a batch.
            resamples: Bootstrap samples.
        """
        self.name = name
        self.text = text
        self.metrics = (*metrics, "loss")
        self._examples_at_once = examples_at_once
        self._weights = resampling_weights(resampled_indices(len(text), resamples))
        self._batches: list[Batch] = []
        self._batched_for: ClassificationModel | None = None
        self._labels: LabelSet | None = None

    def batches(self, model: ClassificationModel) -> list[Batch]:
        """Return the set in batches for a model."""
        if self._batched_for is not model:
            self._batches = model.batches(self.text, examples=self._examples_at_once)
            self._labels = self._label_set(model.labels)
            self._batched_for = model
        return self._batches

    @torch.inference_mode()
    def judge(self, model: ClassificationModel) -> Outcome:
        """Label the set and compute all metrics and their resamples."""
        predicted = numpy.zeros(len(self.text), dtype=numpy.int64)
        nats = numpy.zeros(len(self.text))
        for batch in self.batches(model):
            logs = model.logits(batch).double().log_softmax(-1)  # (B, C)
            predicted[batch.positions] = logs.argmax(-1).cpu().numpy()
            nats[batch.positions] = -logs.gather(1, batch.labels[:, None]).squeeze(1).cpu().numpy()
        assert self._labels is not None  # since `batches`
        return self.outcome(predicted.tolist(), self._labels.sample(predicted, nats))

    def outcome(self, answers: list[Any], sample: Sample) -> Outcome:
        """Return answers and what they add to the metrics with the scores, also on every resample."""
        return Outcome(answers, sample, sample.scores(), sample.resampled(self._weights))

    def judge_under(
        self,
        model: ClassificationModel,
        intervention: Intervention,
        full: Outcome,  # noqa: ARG002
        replacements: Replacements | None,
    ) -> Outcome:
        """Judge under an intervention."""
        with model.gates.applied(intervention, replacements):
            return self.judge(model)

    def signature(self, metric: str) -> str:
        """Return what affects a number measured on this set."""
        return signature(
            metric=metric_signature(metric, self._labels.classes if self._labels else 0).replace("|", ","),
            set=self.name,
            examples=len(self.text),
            resamples=len(self._weights),
        )

    def _label_set(self, labels: Sequence[str]) -> LabelSet:
        gold = [labels.index(label) for label in self.text.labels]
        return LabelSet(gold, classes=len(labels), metrics=self.metrics[:-1])
