"""The interface of engines, which load, read, evaluate, observe and time one kind of model; stages use only this.

An engine is a folder next to this file whose `engine.py` names its class `ENGINE`. Its methods import its parts late,
so that a stage loads only what it uses. Editing a file in the folder of an engine reruns all jobs that load a model of
it, and no job of another engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headroom.core.errors import HeadroomError

if TYPE_CHECKING:
    import argparse

    import numpy
    from torch import Tensor

    from headroom.core.interventions import Intervention
    from headroom.core.statistics import Sample
    from headroom.engines.gates import Replacements
    from headroom.engines.head_model import HeadModel
    from headroom.engines.maps import MapBatch

Statistics = Mapping[str, "numpy.ndarray"]
"""By metric, the statistics of each example of a set, (examples, k)."""


AGAIN = "again"
"""In the statistics of an engine that reuses states: for each example whether it was also computed without reuse, and
whether the answer differs, (examples, 2)."""


CALIBRATION = "calibration_error"
"""Among the scores of a classifier, but not a metric: how far confidence is from accuracy, in %."""


@dataclass(frozen=True)
class Outcome:
    """A model on a set: its answers, their statistics, the scores, and the scores on every resample.

    Attributes:
        answers: The model's answer to each example: the pieces of a translation, or the index of a class.
        sample: The statistics of each example.
        scores: By metric, the main one first.
        resampled: By metric, (samples,).
    """

    answers: list[Any]
    sample: Sample
    scores: dict[str, float]
    resampled: dict[str, numpy.ndarray]


class EvaluationSet(ABC):
    """Examples with references for the evaluation of models; one object serves many models.

    Attributes:
        name: Its name.
        metrics: Names in the order of all tables, the task's main one first.
        weights: How often each example is in each bootstrap sample, (resamples, examples).
    """

    name: str
    metrics: tuple[str, ...]
    weights: numpy.ndarray

    @abstractmethod
    def batches(self, model: Any) -> list[Any]:
        """Return the set in batches for a model."""

    @abstractmethod
    def judge(self, model: Any) -> Outcome:
        """Return the outcome of a model under its present gates."""

    @abstractmethod
    def judge_under(
        self, model: Any, intervention: Intervention, full: Outcome, replacements: Replacements | None
    ) -> Outcome:
        """Return the outcome of a model under an intervention; `full` is its outcome without."""

    def outcome(self, answers: list[Any], sample: Sample) -> Outcome:
        """Return answers and their statistics with the scores, also on every resample."""
        return Outcome(answers, sample, sample.scores(), sample.resampled(self.weights))

    def chance(self, metric: str) -> float:  # noqa: ARG002
        """Return the best score of a constant answer; 0 in translation."""
        return 0.0

    @abstractmethod
    def signature(self, metric: str) -> str:
        """Return the signature of a number measured on this set."""


class Workload(ABC):
    """One batch, run through parts of a model.

    Attributes:
        parts: The parts of a model that are timed.
    """

    parts: tuple[str, ...]

    @property
    @abstractmethod
    def shape(self) -> dict[str, int]:
        """The sizes that determine the time, e.g. the length of the batch in pieces."""

    @abstractmethod
    def action(self, model: Any, part: str) -> Callable[[], Any]:
        """Return the timed function."""

    @abstractmethod
    def multiply_adds(self, model: Any, part: str) -> int:
        """Count the multiply-adds of a part as run."""


class Engine(ABC):
    """Models of one kind, with their data.

    Attributes:
        loss: The definition of an example's loss, for signatures.
    """

    loss: str

    @staticmethod
    @abstractmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a trained model, or one per epoch, its data and the device."""

    @staticmethod
    @abstractmethod
    def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:
        """Add the flags that affect answers and scores; `final`: also those of final scores only."""

    @classmethod
    @abstractmethod
    def from_flags(cls, given: argparse.Namespace) -> Self:
        """Return the engine of a parsed command line; sections of settings without flags have their defaults.

        Raises:
            HeadroomError: If settings are invalid.
        """

    @abstractmethod
    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> HeadModel:
        """Load a model in eval mode.

        Args:
            checkpoint: Its file or directory.
            fresh: A seed of untrained weights, instead of those of the checkpoint.
            maps: Whether attention weights are needed.
        """

    @abstractmethod
    def examples(self, name: str, limit: int | None = None) -> Sized:
        """Read the examples of a set, or the first of them."""

    @abstractmethod
    def sentences(self, examples: Any) -> Sequence[str]:
        """Return the sentence of each example that the encoder reads, the first one of a pair."""

    @abstractmethod
    def batches(self, model: Any, examples: Any, size: int) -> list[Any]:
        """Return examples in batches of similar length."""

    @abstractmethod
    def judged_set(self, name: str, limit: int | None = None) -> EvaluationSet:
        """Read an evaluation set, or its first examples."""

    @abstractmethod
    def final(self, judged: Any, model: Any) -> tuple[Outcome, str, Callable[[str], str]]:
        """Return the final outcome, the kind of search, and the signature of a metric."""

    @abstractmethod
    def example_batches(self, model: Any, examples: Any, size: int) -> list[MapBatch]:
        """Return examples of a set in batches that show the maps of every site, teacher-forced with a decoder."""

    @abstractmethod
    def sentence_batches(self, model: Any, sentences: Sequence[str], size: int) -> list[MapBatch]:
        """Return single sentences in batches that show the maps of the encoder, with the positions of their pieces.

        Raises:
            HeadroomError: If the pieces of a sentence cannot be found in it.
        """

    @abstractmethod
    def frequencies(self, model: Any) -> Tensor | None:
        """Return the frequency of each of the encoder's pieces in the training text, (V,); None without text."""

    @abstractmethod
    def workload(self, model: Any, examples: Any, size: int) -> Workload:
        """Return a batch of the set's middle lengths, to be timed.

        Raises:
            HeadroomError: If the set has fewer examples than that.
        """


def middle(lengths: Sequence[int], size: int) -> list[int]:
    """Return the positions of the `size` examples of middle lengths; raise HeadroomError if there are fewer."""
    if len(lengths) < size:
        raise HeadroomError(
            f"timing.batch_sizes: {size} exceeds the {len(lengths)} examples of the set; give smaller sizes"
        )
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    start = (len(order) - size) // 2
    return order[start : start + size]
