"""Evaluation sets that a model answers in one pass: states of the plain model are reused."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic

import torch
from typing_extensions import TypeVar

from headroom.core.interventions import Intervention
from headroom.engines.batch import Given
from headroom.engines.engine import Answer, EvaluationSet, Model, Outcome
from headroom.engines.gates import Replacements
from headroom.engines.hub.plain_states import PlainStates

Reading = TypeVar("Reading", default=Any)
"""What is read of a pass over a batch."""


class ReusingSet(EvaluationSet[Model, Given, Answer], Generic[Model, Given, Answer, Reading]):
    """Examples that a model answers in one pass."""

    _states: PlainStates[Given] | None = None

    @abstractmethod
    def read(self, model: Model, batch: Given) -> Reading:
        """Run a model under its present gates on a batch, and return what is read."""

    @abstractmethod
    def judge_reading(self, batches: Sequence[Given], read: Callable[[int], Reading]) -> Outcome[Answer]:
        """Return the outcome of what is read, by the number of a batch."""

    @torch.inference_mode()
    def judge(self, model: Model) -> Outcome[Answer]:
        """Answer the set and compute all metrics and their resamples."""
        batches = self.batches(model)
        return self.judge_reading(batches, lambda number: self.read(model, batches[number]))

    def forget(self) -> None:
        """Forget the states of the plain model."""
        self._states = None

    def judge_finally(self, model: Model) -> tuple[Outcome[Answer], str, Callable[[str], str]]:
        """Answer every example by the likeliest class or piece."""
        return self.judge(model), "argmax", self.signature

    @torch.inference_mode()
    def judge_under(
        self,
        model: Model,
        intervention: Intervention,
        full: Outcome[Answer],  # noqa: ARG002
        replacements: Replacements | None,
    ) -> Outcome[Answer]:
        """Judge under an intervention; what precedes the first changed site is computed once for all interventions."""
        batches = self.batches(model)
        if self._states is None or not self._states.belong_to(model):
            self._states = PlainStates(model, batches)
        states = self._states
        with model.gates.applied(intervention, replacements):
            return self.judge_reading(batches, lambda number: states.run(number, partial(self.read, model)))
