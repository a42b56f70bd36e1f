"""Evaluation sets of language models: predicted tokens, losses, metrics."""

import math
from collections.abc import Callable, Sequence

import numpy
from torch import Tensor

from headroom.core.statistics import Metric, Sample, mean, percentage
from headroom.core.table import signature
from headroom.models.causal.model import WindowBatch, WindowModel
from headroom.models.causal.windows import Windows
from headroom.models.engine import KL, Outcome
from headroom.models.readout import Predicted
from headroom.models.reusing import ReusingSet

METRICS: dict[str, Metric] = {"next": percentage, "masked": percentage, "loss": mean, "bits": mean, KL: mean}
"""Next or masked tokens predicted (%), nats per token, bits per byte, nats per token."""

_UNITS = {
    "next": "percent of next tokens",
    "masked": "percent of masked tokens",
    "loss": "nats per token",
    "bits": "bits per byte",
    KL: "nats per token",
}


class WindowSet(ReusingSet[WindowModel, WindowBatch, list[int], tuple[Tensor, Tensor, Tensor]]):
    """Windows of documents."""

    metrics: tuple[str, ...] = ("next", "loss", "bits")

    def __init__(self, *, name: str, windows: Windows, windows_at_once: int, resamples: int, about: str) -> None:
        """Store windows, the size of batches, the number of resamples, and what a signature says of the text."""
        self.name = name
        self.windows = windows
        self.resample(windows.clusters, resamples, "documents")
        self._windows_at_once = windows_at_once
        self._about = about

    def make_batches(self, model: WindowModel) -> list[WindowBatch]:
        """Make the batches for another model."""
        self._states = None
        return model.batches(self.windows, size=self._windows_at_once)

    def chance(self, metric: str) -> float:
        """Return the share of the most frequent token among those to be predicted; 0 for losses."""
        if metric != self.metrics[0]:
            return 0.0
        tokens = [window.tokens[place] for window in self.windows.windows for place in window.predicted]
        return 100.0 * int(numpy.bincount(tokens).max()) / len(tokens)

    def predict(self, model: WindowModel, batch: WindowBatch) -> Predicted:
        """Return what is predicted."""
        return model.predict_targets(batch, batch.answers)

    def read(
        self, model: WindowModel, batch: WindowBatch, plain: Predicted | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the losses of the predicted tokens in nats, the likeliest ones, and divergences, (B, T) each."""
        return model.read_targets(batch, batch.answers, plain)

    def judge_reading(
        self, batches: Sequence[WindowBatch], read: Callable[[int], tuple[Tensor, Tensor, Tensor]]
    ) -> Outcome[list[int]]:
        """Return the outcome of losses, likeliest tokens and divergences by the number of a batch."""
        answers: list[list[int]] = [[] for _ in self.windows.windows]
        right, nats, tokens, apart = (numpy.zeros(len(answers)) for _ in range(4))
        for number, batch in enumerate(batches):
            losses, predicted, divergences = read(number)
            counted = batch.answers.ge(0)
            right[batch.positions] = ((predicted == batch.answers) & counted).sum(1).cpu().numpy()
            nats[batch.positions] = losses.double().sum(1).cpu().numpy()
            apart[batch.positions] = divergences.sum(1).cpu().numpy()
            tokens[batch.positions] = counted.sum(1).cpu().numpy()
            for row, place in enumerate(batch.positions):
                answers[place] = predicted[row, counted[row]].tolist()
        sizes = numpy.array([window.size for window in self.windows.windows], dtype=numpy.float64)
        statistics = {
            self.metrics[0]: numpy.stack([right, tokens], axis=1),
            "loss": numpy.stack([nats, tokens], axis=1),
            "bits": numpy.stack([nats / math.log(2), sizes], axis=1),
            KL: numpy.stack([apart, tokens], axis=1),
        }
        return self.outcome(answers, Sample(statistics, {name: METRICS[name] for name in (*self.metrics, KL)}))

    def signature(self, metric: str) -> str:
        """Return the signature of a number measured on this set."""
        return signature(
            unit=_UNITS[metric],
            text=self._about,
            set=self.name,
            examples=len(self.windows),
            **self.resampled_by,
            **self.special,
            resamples=len(self.weights),
        )
