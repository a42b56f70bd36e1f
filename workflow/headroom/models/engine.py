"""The interface of engines, which load, read, evaluate, observe and time one kind of model; stages use only this.

An engine is a folder next to this file whose `engine.py` names its class `ENGINE`. Its methods import its parts late,
so that a stage loads only what it uses. Editing a file in the folder of an engine reruns all jobs that load a model of
it, and no job of another engine.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from headroom.models.batch import Batch, Given
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    import numpy
    from torch import Tensor

    from headroom.core.interventions import Intervention
    from headroom.core.statistics import Sample
    from headroom.models.gates import Replacements
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import MapBatch
    from headroom.models.workload import Workload

_log = logging.getLogger(__name__)


Statistics = Mapping[str, "numpy.ndarray"]
"""By metric, the statistics of each example of a set, (examples, k)."""


UNKNOWN = 0.01
"""The share of unknown tokens in a set above which it is said."""

AGAIN = "again"
"""In the statistics of an engine that reuses states: for each example whether it was also computed without reuse, and
whether the answer differs, (examples, 2)."""


CALIBRATION = "calibration_error"
"""Among the scores of a classifier, but not a metric: how far confidence is from accuracy, in %."""


KL = "kl"
"""Among the scores of language models and classifiers, but not a metric of a model alone: the Kullback-Leibler
divergence of an intervention's predictions from the full model's, KL(full || changed) in nats; 0 of any model judged
without an intervention."""


Model = TypeVar("Model", bound="HeadModel[Any]", default="HeadModel[Any]")
"""The models of an engine."""

Examples = TypeVar("Examples", bound=Sized, default=Any)
"""The examples of a set, as an engine reads them."""

Answer = TypeVar("Answer", default=Any)
"""A model's answer to an example: the tokens of a translation, or the index of a class."""


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """A model on a set: its answers, their statistics, the scores, and the scores on every resample.

    Attributes:
        answers: The model's answer to each example.
        sample: The statistics of each example.
        scores: By metric, the main one first.
        resampled: By metric, (samples,).
    """

    answers: list[Answer]
    sample: Sample
    scores: dict[str, float]
    resampled: dict[str, numpy.ndarray]


class EvaluationSet(ABC, Generic[Model, Given, Answer]):
    """Examples with references for the evaluation of models; one object serves many models.

    Attributes:
        name: Its name.
        metrics: Names in the order of all tables, the task's main one first.
        clusters: The cluster of each example, (examples,): those that are resampled together.
        resampled_by: What a signature says of them; see `count_clusters`.
        weights: How often each example is in each bootstrap sample, (resamples, examples).
        cut: The number of examples of which the model of the batches reads only the beginning.
        unknown: The percentage of its tokens that this model does not know, to one decimal; 0 up to `UNKNOWN`.
    """

    name: str
    metrics: tuple[str, ...]
    clusters: numpy.ndarray
    resampled_by: dict[str, int]
    weights: numpy.ndarray
    cut: int = 0
    unknown: float = 0
    _batches: Sequence[Given] = ()
    _batched_for: Model | None = None

    def resample(self, keys: Sequence[Hashable], resamples: int, clusters: str = "examples") -> None:
        """Draw the resamples of examples with these keys; equal ones are of a cluster, by this name in messages."""
        from headroom.core.statistics import FEW_CLUSTERS, count_clusters, index_clusters, resample_clusters

        self.clusters, self.resampled_by = index_clusters(keys), count_clusters(keys)
        self.weights = resample_clusters(self.clusters, resamples)
        for count in self.resampled_by.values():
            if count < FEW_CLUSTERS:
                _log.warning("set %s: only %d %s, so intervals say little of others", self.name, count, clusters)

    @cached_property
    def exchanged(self) -> numpy.ndarray:
        """Whose outputs two systems exchange (`exchanges`), (resamples, examples); those of a cluster together."""
        from headroom.core.statistics import exchanges, spread_over_examples

        return spread_over_examples(lambda count: exchanges(count, len(self.weights)), self.clusters)

    def batches(self, model: Model) -> Sequence[Given]:
        """Return the set in batches for a model, which are made once."""
        if self._batched_for is not model:
            self._batches, self._batched_for = self.make_batches(model), model
            self.cut = self.count_cut(model)
            if self.cut:
                _log.warning("set %s: %d examples exceed the positions of the model and are cut", self.name, self.cut)
            share = model.unknown_share(self._batches)
            self.unknown = round(100 * share, 1) if share > UNKNOWN else 0
            if self.unknown:
                _log.warning("set %s: %.1f %% of its tokens are unknown to the model", self.name, self.unknown)
        return self._batches

    @property
    def special(self) -> dict[str, float]:
        """What signatures say of texts that a model does not read as they are."""
        return {name: value for name, value in (("cut", self.cut), ("unknown", self.unknown)) if value}

    def count_cut(self, model: Model) -> int:  # noqa: ARG002
        """Return the number of examples of which a model reads only the beginning; 0 for windows of documents."""
        return 0

    @abstractmethod
    def make_batches(self, model: Model) -> Sequence[Given]:
        """Make the batches for another model, and forget what is kept of the last one."""

    @abstractmethod
    def judge(self, model: Model) -> Outcome[Answer]:
        """Return the outcome of a model under its present gates."""

    @abstractmethod
    def judge_under(
        self, model: Model, intervention: Intervention, full: Outcome[Answer], replacements: Replacements | None
    ) -> Outcome[Answer]:
        """Return the outcome of a model under an intervention; `full` is its outcome without."""

    def forget(self) -> None:
        """Forget the states of the plain model that are kept for `judge_under`."""

    @abstractmethod
    def judge_finally(self, model: Model) -> tuple[Outcome[Answer], str, Callable[[str], str]]:
        """Return the final outcome of a model, the kind of search for answers, and the signature of a metric."""

    def outcome(self, answers: list[Answer], sample: Sample) -> Outcome[Answer]:
        """Return answers and their statistics with the scores, also on every resample.

        Raises:
            HeadroomError: If the statistics of an example are not finite.
        """
        import numpy

        if self._batched_for is not None:
            finite = [numpy.isfinite(values).all(axis=1) for values in sample.statistics.values()]
            self._batched_for.refuse_overflow(self.name, numpy.logical_and.reduce(finite))
        return Outcome(answers, sample, sample.scores(), sample.resampled(self.weights))

    def chance(self, metric: str) -> float:  # noqa: ARG002
        """Return the best score of a constant answer; 0 in translation."""
        return 0.0

    @abstractmethod
    def signature(self, metric: str) -> str:
        """Return the signature of a number measured on this set."""


class Engine(ABC, Generic[Model, Examples]):
    """Models of one kind, with their data.

    Attributes:
        loss: The definition of an example's loss, for signatures.
        training_text: The file of a corpus with the training text that the encoder reads.
        corpus: The directory of the data.
    """

    loss: str
    training_text: str
    corpus: Path

    def __init__(
        self,
        *,
        corpus: Path | str,
        device: str = "auto",
        checkpoint: Path | str | None = None,
        sampling: SamplingSettings | None = None,
    ) -> None:
        """Name the data and what all engines need.

        Args:
            corpus: The directory of the data, with a file or two of every set.
            device: `auto`, `cpu` or `cuda`.
            checkpoint: The directory of a model, whose tokenizer or labels examples may need.
            sampling: Number of resamples; None for the default.
        """
        self.corpus = Path(corpus)
        self.device = device
        self.checkpoint = checkpoint
        self.sampling = sampling or SamplingSettings()

    @abstractmethod
    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> Model:
        """Load a model in eval mode.

        Args:
            checkpoint: Its file or directory.
            fresh: A seed of untrained weights, instead of those of the checkpoint.
            maps: Whether attention weights are needed.
        """

    @abstractmethod
    def examples(self, name: str, limit: int | None = None) -> Examples:
        """Read the examples of a set, or the first of them."""

    @abstractmethod
    def sentences(self, examples: Examples) -> Sequence[str]:
        """Return the sentence of each example that the encoder reads, the first one of a pair."""

    @abstractmethod
    def batches(self, model: Model, examples: Examples, size: int) -> Sequence[Batch]:
        """Return examples in batches of similar length."""

    def count_cut(self, model: Model, examples: Examples) -> int:  # noqa: ARG002
        """Return the number of examples of which a model reads only the beginning; 0 for windows of documents."""
        return 0

    @abstractmethod
    def judged_set(self, name: str, limit: int | None = None) -> EvaluationSet[Model]:
        """Read an evaluation set, or its first examples."""

    def example_batches(self, model: Model, examples: Examples, size: int) -> list[MapBatch]:
        """Return examples of a set in batches that show the maps of every site, teacher-forced with a decoder."""
        return [model.map_batch(batch) for batch in self.batches(model, examples, size)]

    def sentence_batches(self, model: Model, sentences: Sequence[str], size: int) -> list[MapBatch]:
        """Return single sentences in batches that show the maps of the encoder, with the positions of their tokens."""
        spans = model.spans(sentences)
        return [model.map_batch(batch, spans) for batch in model.sentence_batches(sentences, size)]

    def frequencies(self, model: Model) -> Tensor | None:
        """Return the frequency of each of the encoder's tokens in the training text, (V,); None without text."""
        return model.frequencies(self.corpus / self.training_text)

    @abstractmethod
    def workload(self, model: Model, examples: Examples, size: int) -> Workload[Model]:
        """Return a batch of the set's middle lengths, to be timed.

        Raises:
            HeadroomError: If the set has fewer examples than that.
        """
