"""Evaluation sets of classification: predictions, losses, metrics."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy
from numpy import ndarray
from torch import Tensor

from headroom.core.statistics import Metric, Sample, mean, percentage
from headroom.core.table import signature
from headroom.data.labelled import LabelledText, check_defined
from headroom.models.classifier.model import ClassificationModel, LabelledBatch
from headroom.models.engine import CALIBRATION, KL, Outcome
from headroom.models.reusing import ReusingSet

POSITIVE = 1
"""Index of the positive class of F1."""


def f1_from_statistics(statistics: ndarray) -> ndarray:
    """Return F1 of the positive class in %, from confusion counts.

    Args:
        statistics: (..., C * C) summed over examples: examples of gold class i labelled j, at i * C + j.

    Returns:
        (...); with two classes F1 of the second, with more the mean over the classes with examples; NaN without any of
        these.
    """
    confusion = _matrix(statistics)  # (..., C, C)
    right = numpy.diagonal(confusion, axis1=-2, axis2=-1)  # (..., C)
    together = confusion.sum(axis=-1) + confusion.sum(axis=-2)
    occurs = confusion.sum(axis=-1) > 0
    by_class = numpy.where(occurs, 2.0 * right / numpy.where(occurs, together, 1.0), 0.0)
    if confusion.shape[-1] == 2:
        return numpy.where(occurs[..., POSITIVE], 100.0 * by_class[..., POSITIVE], numpy.nan)
    return 100.0 * by_class.sum(axis=-1) / occurs.sum(axis=-1)


def matthews_from_statistics(statistics: ndarray) -> ndarray:
    """Return Matthews correlation times 100, from confusion counts (..., C * C) as for F1.

    For more than two classes it is the generalisation of Gorodkin 2004 (R_K), as in scikit-learn; 0 if only one class
    is predicted, and NaN if all examples are of one class, where it is not defined.
    """
    confusion = _matrix(statistics)
    gold, labelled = confusion.sum(axis=-1), confusion.sum(axis=-2)  # (..., C)
    total = gold.sum(axis=-1)
    right = numpy.trace(confusion, axis1=-2, axis2=-1)
    covariance = right * total - (gold * labelled).sum(axis=-1)
    spread = numpy.sqrt((total**2 - (gold**2).sum(axis=-1)) * (total**2 - (labelled**2).sum(axis=-1)))
    found = numpy.where(spread > 0, 100.0 * covariance / numpy.where(spread > 0, spread, 1.0), 0.0)
    return numpy.where(gold.max(axis=-1) == total, numpy.nan, found)


BINS = 15
"""Number of equal bins of confidence of the calibration error (Guo et al. 2017)."""


def calibration_statistics(confidence: ndarray, right: ndarray) -> ndarray:
    """Return the statistics of the calibration error, (examples, BINS + 1).

    Args:
        confidence: (examples,) probabilities of the predicted classes.
        right: (examples,) whether the predictions are correct.
    """
    statistics = numpy.zeros((len(confidence), BINS + 1))
    bins = numpy.minimum(numpy.nan_to_num(confidence * BINS).astype(int), BINS - 1)
    statistics[numpy.arange(len(confidence)), bins] = right - confidence
    statistics[:, -1] = 1.0
    return statistics


def calibration_error(statistics: ndarray) -> ndarray:
    """Return the expected calibration error in %, from (..., BINS + 1) sums of `calibration_statistics`.

    It is the distance of accuracy from mean confidence within a bin, averaged over examples (Guo et al. 2017, eq. 3).
    """
    return 100.0 * numpy.abs(statistics[..., :-1]).sum(axis=-1) / statistics[..., -1]


METRICS: dict[str, Metric] = {
    "accuracy": percentage,
    "f1": f1_from_statistics,
    "matthews": matthews_from_statistics,
    "loss": mean,
    CALIBRATION: calibration_error,
    KL: mean,
}


class LabelSet:
    """The gold labels of an evaluation set, as indices of classes; adds loss, calibration and KL to the metrics."""

    def __init__(self, gold: Sequence[int], *, classes: int, metrics: Sequence[str]) -> None:
        self.gold = numpy.array(gold, dtype=numpy.int64)
        self.classes = classes
        self.metrics = {name: METRICS[name] for name in (*metrics, "loss", CALIBRATION, KL)}

    def sample(self, predicted: ndarray, nats: ndarray, confidence: ndarray, apart: ndarray) -> Sample:
        """Return the statistics of one system.

        Args:
            predicted: (examples,) predicted classes.
            nats: (examples,) losses of the gold labels.
            confidence: (examples,) probabilities of the predicted classes.
            apart: (examples,) divergences from the full model.
        """
        ones = numpy.ones(len(self.gold))
        confusion = numpy.zeros((len(self.gold), self.classes**2))
        confusion[numpy.arange(len(self.gold)), self.gold * self.classes + predicted] = 1.0
        right = (predicted == self.gold).astype(numpy.float64)
        statistics = {
            "accuracy": numpy.stack([right, ones], axis=1),
            "f1": confusion,
            "matthews": confusion,
            "loss": numpy.stack([nats.astype(numpy.float64), ones], axis=1),
            CALIBRATION: calibration_statistics(confidence, right),
            KL: numpy.stack([apart, ones], axis=1),
        }
        return Sample({name: statistics[name] for name in self.metrics}, self.metrics)

    def chance(self, metric: str) -> float:
        """Return the best score of a constant label: for accuracy the share of the largest class."""
        nats = numpy.zeros(len(self.gold))
        same = (numpy.full(len(self.gold), label) for label in range(self.classes))
        return max(self.sample(labels, nats, nats, nats).scores()[metric] for labels in same)


def metric_signature(metric: str, classes: int, occurring: int) -> str:
    """Return the signature of a metric of a model with so many classes, of which some occur in a set."""
    if metric in ("loss", KL):
        return signature(unit="nats per example")
    if metric == "f1":
        return signature(unit="percent", average="positive class" if classes == 2 else f"macro over {occurring}")
    return signature(unit="percent of examples" if metric == "accuracy" else "correlation times 100")


def _replace_undefined(weights: ndarray, labels: Sequence[str]) -> ndarray:
    """Replace resamples of a single label, for which a metric is not defined, among (samples, examples)."""
    gold = numpy.unique(labels, return_inverse=True)[1]
    alone = (weights @ numpy.eye(gold.max() + 1)[gold] > 0).sum(axis=1) == 1
    others = numpy.flatnonzero(~alone)
    if len(others):
        weights[alone] = weights[others[numpy.arange(alone.sum()) % len(others)]]
    return weights


def _matrix(statistics: ndarray) -> ndarray:
    classes = math.isqrt(statistics.shape[-1])
    return statistics.reshape(*statistics.shape[:-1], classes, classes)


class LabelledSet(ReusingSet[ClassificationModel, LabelledBatch, int, tuple[Tensor, Tensor]]):
    """Labelled examples."""

    def __init__(
        self, *, name: str, text: LabelledText, metrics: Sequence[str], examples_at_once: int, resamples: int
    ) -> None:
        """Store examples, whose labels are those of the models, and metrics, to which the loss is added."""
        self.name = name
        self.text = text
        self.metrics = (*metrics, "loss")
        self.resample(text.clusters, resamples, "first sentences")
        if {"matthews", "f1"} & {*metrics}:
            self.weights = _replace_undefined(self.weights, text.labels)
        self._examples_at_once = examples_at_once
        self._labels: LabelSet | None = None

    def make_batches(self, model: ClassificationModel) -> list[LabelledBatch]:
        """Make the batches for another model, and index the labels as it does."""
        sizes = Counter(self.text.labels)
        check_defined(self.metrics, sizes, model.labels, f"set {self.name}")
        gold = [model.labels.index(label) for label in self.text.labels]
        self._labels = LabelSet(gold, classes=len(model.labels), metrics=self.metrics[:-1])
        self._states = None
        return model.batches(self.text, examples=self._examples_at_once)

    def count_cut(self, model: ClassificationModel) -> int:
        """Return the number of examples of which a model reads only the beginning."""
        return model.count_cut(self.text)

    def chance(self, metric: str) -> float:
        """Return the best score of a constant label; 0 for losses, which have no shares.

        Raises:
            ValueError: If no model was judged yet, which names the labels (a programming error).
        """
        if metric in ("loss", KL):
            return 0.0
        if self._labels is None:
            raise ValueError("chance of labels: judge a model first")
        return self._labels.chance(metric)

    def predict(self, model: ClassificationModel, batch: LabelledBatch) -> Tensor:
        """Return the logarithms of all probabilities, (B, classes)."""
        return model.logits(batch).double().log_softmax(-1)

    def read(
        self, model: ClassificationModel, batch: LabelledBatch, plain: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the logarithms of all probabilities, (B, classes), and the divergence, (B,)."""
        logs = self.predict(model, batch)
        plain = logs if plain is None else plain
        return logs, (plain.exp() * (plain - logs)).sum(-1)

    def judge_reading(
        self, batches: Sequence[LabelledBatch], read: Callable[[int], tuple[Tensor, Tensor]]
    ) -> Outcome[int]:
        """Return the outcome of what is read by the number of a batch."""
        predicted = numpy.zeros(len(self.text), dtype=numpy.int64)
        nats, confidence, apart = (numpy.zeros(len(self.text)) for _ in range(3))
        for number, batch in enumerate(batches):
            logs, divergences = read(number)  # (B, C)
            labels = logs.argmax(-1, keepdim=True)  # (B, 1)
            predicted[batch.positions] = labels.squeeze(1).cpu().numpy()
            confidence[batch.positions] = logs.gather(1, labels).squeeze(1).exp().cpu().numpy()
            apart[batch.positions] = divergences.cpu().numpy()
            nats[batch.positions] = -logs.gather(1, batch.labels[:, None]).squeeze(1).cpu().numpy()
        assert self._labels is not None  # since `batches`
        return self.outcome(predicted.tolist(), self._labels.sample(predicted, nats, confidence, apart))

    def signature(self, metric: str) -> str:
        """Return the signature of a number measured on this set."""
        classes = self._labels.classes if self._labels else 0
        return signature(
            metric=metric_signature(metric, classes, len({*self.text.labels})).replace("|", ","),
            set=self.name,
            examples=len(self.text),
            **self.resampled_by,
            **self.special,
            resamples=len(self.weights),
        )
