"""What each labelled example adds to accuracy, F1, Matthews correlation and loss."""

import math
from collections.abc import Sequence

import numpy
from numpy import ndarray

from headroom.core.bootstrap import Metric, Sample, mean, percentage
from headroom.core.table import signature

POSITIVE = 1
"""Index of the class that F1 is about."""


def f1_from_statistics(statistics: ndarray) -> ndarray:
    """Return F1 of the positive class in %, from confusion counts.

    Args:
        statistics: (..., C * C) summed over examples: examples of gold class i labelled j, at i * C + j.

    Returns:
        (...); with two classes F1 of the second, with more the mean over classes; 0 for a class never met.
    """
    confusion = _matrix(statistics)  # (..., C, C)
    right = numpy.diagonal(confusion, axis1=-2, axis2=-1)  # (..., C)
    together = confusion.sum(axis=-1) + confusion.sum(axis=-2)
    by_class = numpy.where(together > 0, 2.0 * right / numpy.where(together > 0, together, 1.0), 0.0)
    return 100.0 * (by_class[..., POSITIVE] if confusion.shape[-1] == 2 else by_class.mean(axis=-1))


def matthews_from_statistics(statistics: ndarray) -> ndarray:
    """Return Matthews correlation times 100, from confusion counts (..., C * C) as for F1.

    For more than two classes it is the generalisation of Gorodkin 2004 (R_K), as in scikit-learn; 0
    where it is not defined, because only one class is met or labelled.
    """
    confusion = _matrix(statistics)
    gold, labelled = confusion.sum(axis=-1), confusion.sum(axis=-2)  # (..., C)
    total = gold.sum(axis=-1)
    right = numpy.trace(confusion, axis1=-2, axis2=-1)
    covariance = right * total - (gold * labelled).sum(axis=-1)
    spread = numpy.sqrt((total**2 - (gold**2).sum(axis=-1)) * (total**2 - (labelled**2).sum(axis=-1)))
    return numpy.where(spread > 0, 100.0 * covariance / numpy.where(spread > 0, spread, 1.0), 0.0)


METRICS: dict[str, Metric] = {
    "accuracy": percentage,
    "f1": f1_from_statistics,
    "matthews": matthews_from_statistics,
    "loss": mean,
}


class LabelSet:
    """The gold labels of an evaluation set, ready to score predictions against.

    Args:
        gold: Index of each example's class.
        classes: How many classes there are.
        metrics: The metrics that the task asks for, the main one first; the loss is always added.
    """

    def __init__(self, gold: Sequence[int], *, classes: int, metrics: Sequence[str]) -> None:
        self.gold = numpy.array(gold, dtype=numpy.int64)
        self.classes = classes
        self.metrics = {name: METRICS[name] for name in (*metrics, "loss")}

    def sample(self, predicted: ndarray, nats: ndarray) -> Sample:
        """Return the statistics of one system.

        Args:
            predicted: Index of the class given to each example, (n,).
            nats: Negative log-likelihood of each gold label, (n,).
        """
        ones = numpy.ones(len(self.gold))
        confusion = numpy.zeros((len(self.gold), self.classes**2))
        confusion[numpy.arange(len(self.gold)), self.gold * self.classes + predicted] = 1.0
        statistics = {
            "accuracy": numpy.stack([(predicted == self.gold).astype(numpy.float64), ones], axis=1),
            "f1": confusion,
            "matthews": confusion,
            "loss": numpy.stack([nats.astype(numpy.float64), ones], axis=1),
        }
        return Sample({name: statistics[name] for name in self.metrics}, self.metrics)


def metric_signature(metric: str, classes: int) -> str:
    """Return what affects a metric."""
    if metric == "loss":
        return signature(unit="nats per example")
    if metric == "f1":
        return signature(unit="percent", average="positive class" if classes == 2 else "macro")
    return signature(unit="percent of examples" if metric == "accuracy" else "correlation times 100")


def _matrix(statistics: ndarray) -> ndarray:
    classes = math.isqrt(statistics.shape[-1])
    return statistics.reshape(*statistics.shape[:-1], classes, classes)
