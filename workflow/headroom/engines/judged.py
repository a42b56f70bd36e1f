"""What judging gives: a model's answers on an evaluation set, and the sets that every engine has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy

from headroom.core.bootstrap import Sample
from headroom.core.interventions import Intervention
from headroom.engines.gates import Replacements

Statistics = Mapping[str, numpy.ndarray]
"""By metric, what each example of a set adds to it, (examples, k)."""


@dataclass(frozen=True)
class Outcome:
    """A model on a set: its answers, their statistics, the scores, and the scores on every resample.

    Attributes:
        answers: What the model said to each example: the pieces of a translation, or the index of a class.
        sample: What each example adds to each metric.
        scores: By metric, the main one first.
        resampled: By metric, (samples,).
    """

    answers: list[Any]
    sample: Sample
    scores: dict[str, float]
    resampled: dict[str, numpy.ndarray]


class EvaluationSet(Protocol):
    """Examples with references that models are judged on; one object serves many models."""

    name: str

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics in the order of all tables, the task's main one first."""

    def batches(self, model: Any) -> list[Any]:
        """Return the set in batches for a model."""

    def judge(self, model: Any) -> Outcome:
        """Return how a model does under its present gates."""

    def judge_under(
        self, model: Any, intervention: Intervention, full: Outcome, replacements: Replacements | None
    ) -> Outcome:
        """Return how a model does under an intervention; `full` is its outcome without."""

    def outcome(self, answers: list[Any], sample: Sample) -> Outcome:
        """Return answers and what they add to the metrics with the scores, also on every resample."""

    def signature(self, metric: str) -> str:
        """Return what affects a number measured on this set."""
