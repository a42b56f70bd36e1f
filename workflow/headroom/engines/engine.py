"""The interface of engines, which load, read, evaluate, observe and time one kind of model; stages use only this.

An engine is a folder next to this file whose `engine.py` names its class `ENGINE`. It is imported by its name, and its
methods import its parts late, so that a command line imports no engine, and a stage only what it uses. Editing a file
in the folder of an engine reruns all jobs that load a model of it, and no job of another engine.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headroom.core.command import add_run, stage_parser
from headroom.core.errors import HeadroomError

if TYPE_CHECKING:
    import numpy
    from torch import Tensor

    from headroom.core.interventions import Intervention
    from headroom.core.statistics import Sample
    from headroom.engines.gates import Replacements
    from headroom.engines.head_model import HeadModel
    from headroom.engines.maps import MapBatch

ENGINES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/engine.py")))
"""The folders of engines next to this file."""

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


class EvaluationSet(Protocol):
    """Examples with references for the evaluation of models; one object serves many models. All sets inherit from it.

    Attributes:
        name: Its name.
        metrics: Names in the order of all tables, the task's main one first.
        weights: How often each example is in each bootstrap sample, (resamples, examples).
    """

    name: str
    metrics: tuple[str, ...]
    weights: numpy.ndarray

    def batches(self, model: Any) -> list[Any]:
        """Return the set in batches for a model."""

    def judge(self, model: Any) -> Outcome:
        """Return the outcome of a model under its present gates."""

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

    def signature(self, metric: str) -> str:
        """Return the signature of a number measured on this set."""


class Workload(Protocol):
    """One batch, run through parts of a model."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a model that are timed."""

    @property
    def shape(self) -> dict[str, int]:
        """The sizes that determine the time, e.g. the length of the batch in pieces."""

    def action(self, model: Any, part: str) -> Callable[[], Any]:
        """Return the timed function."""

    def multiply_adds(self, model: Any, part: str) -> int:
        """Count the multiply-adds of a part as run."""


class Engine(Protocol):
    """Models of one kind, with their data, given by the command line. All engines inherit from it.

    Attributes:
        loss: The definition of an example's loss, for signatures.
        training_text: The file of the corpus with the encoder's input in training.
    """

    loss: str
    training_text: str
    given: argparse.Namespace

    def __init__(self, given: argparse.Namespace) -> None:
        """Take the parsed command line, with the flags that were added here."""
        self.given = given

    @staticmethod
    def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
        """Add the flags that name a trained model, or one per epoch, its data and the device."""

    @staticmethod
    def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:
        """Add the flags that affect answers and scores; `final`: also those of final scores only."""

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> HeadModel:
        """Load a model in eval mode.

        Args:
            checkpoint: Its file or directory.
            fresh: A seed of untrained weights, instead of those of the checkpoint.
            maps: Whether attention weights are needed.
        """

    def examples(self, name: str, limit: int | None = None) -> Sized:
        """Read the examples of a set, or the first of them."""

    def sentences(self, examples: Any) -> Sequence[str]:
        """Return the sentence of each example that the encoder reads, the first one of a pair."""

    def batches(self, model: Any, examples: Any, size: int) -> list[Any]:
        """Return examples in batches of similar length."""

    def judged_set(self, name: str, limit: int | None = None) -> EvaluationSet:
        """Read an evaluation set, or its first examples."""

    def final(self, judged: Any, model: Any) -> tuple[Outcome, str, Callable[[str], str]]:
        """Return the final outcome, the kind of search, and the signature of a metric."""

    def example_batches(self, model: Any, examples: Any, size: int) -> list[MapBatch]:
        """Return examples of a set in batches that show the maps of every site, teacher-forced with a decoder."""
        return self._part("observing").example_batches(model, examples, size)

    def sentence_batches(self, model: Any, sentences: Sequence[str], size: int) -> list[MapBatch]:
        """Return single sentences in batches that show the maps of the encoder, with the positions of their pieces.

        Raises:
            HeadroomError: If the pieces of a sentence cannot be found in it.
        """
        return self._part("observing").sentence_batches(model, sentences, size)

    def frequencies(self, model: Any) -> Tensor | None:
        """Return the frequency of each of the encoder's pieces in the training text, (V,); None without text."""
        return self._part("observing").frequencies(model, Path(self.given.corpus) / self.training_text)

    def workload(self, model: Any, examples: Any, size: int) -> Workload:
        """Return a batch of the set's middle lengths, to be timed.

        Raises:
            HeadroomError: If the set has fewer examples than that.
        """
        return self._part("timing").workload(model, examples, size)

    def _part(self, name: str) -> Any:
        """Import a module of this engine's folder."""
        return importlib.import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")


def middle(lengths: Sequence[int], size: int) -> list[int]:
    """Return the positions of the `size` examples of middle lengths; raise HeadroomError if there are fewer."""
    if len(lengths) < size:
        raise HeadroomError(
            f"timing.batch_sizes: {size} exceeds the {len(lengths)} examples of the set; give smaller sizes"
        )
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    start = (len(order) - size) // 2
    return order[start : start + size]


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add `--task`."""
    parser.add_argument(
        "--task", choices=ENGINES, default="translation", help="task of the model; other flags depend on it"
    )


def model_parser(
    stage: str, description: str | None, engine: type[Engine], *, several: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a stage that loads a trained model, or one per epoch, with the flags for it."""
    parser = stage_parser(stage, description)
    add_run(parser)
    add_task(parser)
    engine.add_model(parser, several=several)
    return parser


def given_engine(
    build_parser: Callable[[type[Engine]], argparse.ArgumentParser], arguments: Sequence[str] | None
) -> tuple[Engine, argparse.Namespace]:
    """Return the engine of `--task`, and the command line parsed with the parser built for it."""
    engine = chosen_engine(arguments)
    given = build_parser(engine).parse_args(arguments)
    return engine(given), given


def chosen_task(arguments: Sequence[str] | None) -> str:
    """Return the value of `--task`; the rest of the command line depends on it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_task(parser)
    named, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    return str(named.task)


def chosen_engine(arguments: Sequence[str] | None) -> type[Engine]:
    """Return the engine of `--task`."""
    return engine_for(chosen_task(arguments))


def engine_for(name: str) -> type[Engine]:
    """Return the engine of this name, without loading the other ones."""
    engine: type[Engine] = importlib.import_module(f"headroom.engines.{name}.engine").ENGINE
    return engine
