"""Evaluation sets that a model answers in one pass: states of the plain model are reused."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Generic

import torch
from torch import Tensor, nn
from typing_extensions import TypeVar

from headroom.core.interventions import Intervention
from headroom.models.batch import Given
from headroom.models.engine import Answer, EvaluationSet, Model, Outcome
from headroom.models.gates import Replacements
from headroom.models.head_model import HeadModel
from headroom.models.reusable import STORED, trace_reusable

Reading = TypeVar("Reading", default=Any)
"""What is read of a pass over a batch."""

Result = TypeVar("Result")


class PlainStates(Generic[Given]):
    """The states of a model in eval mode on the batches of a set, and what it predicts there.

    Only the first batches are stored, as many as fit into the limit, and no states of a model whose states cannot be
    reused. Predictions that do not fit are computed again.
    """

    def __init__(self, model: HeadModel[Given], batches: Sequence[Given], *, limit: int = STORED) -> None:
        """Trace the model on two examples; at most `limit` bytes are stored."""
        self._model = model
        self._batches = batches
        self._weights = _weights(model)
        longest = model.shorten(batches[-1])
        self._reusable = trace_reusable(model, model.logits, longest)
        size = self._reusable.size / min(2, len(longest.positions)) / longest.length
        positions = torch.tensor([len(batch.positions) * batch.length for batch in batches]).cumsum(0)
        self._stored: list[dict[nn.Module, object]] = [{} for _ in range(int((positions * size <= limit).sum()))]
        self._predicted: dict[int, Any] = {}
        self._room = limit

    def belong_to(self, model: HeadModel[Given]) -> bool:
        """Return whether this is the model that they are of, with the same modules and weights."""
        now = _weights(model) if model is self._model else []
        return len(now) == len(self._weights) and all(
            one is other and version == before for (one, version), (other, before) in zip(now, self._weights)
        )

    def predicted(self, number: int, predict: Callable[[Given], Any]) -> Any:
        """Return what the plain model predicts on a batch; `predict` runs a model under its present gates."""
        if number in self._predicted:
            return self._predicted[number]
        with self._model.gates.lifted():
            found = predict(self._batches[number])
        if found.nbytes <= self._room:
            self._room -= found.nbytes
            self._predicted[number] = found
        return found

    def run(self, number: int, action: Callable[[Given], Result]) -> Result:
        """Return the result of an action, which runs the model under its present gates on the batch that it is given.

        Batches count from 0.
        """
        changed = self._model.gates.changed
        first = next((site for site in self._reusable.modules if site in changed), None)
        if first is None:
            return action(self._batches[number])
        in_store = number < len(self._stored)
        with self._reusable.reused(first if in_store else None, self._stored[number] if in_store else {}):
            return action(self._batches[number])


class ReusingSet(EvaluationSet[Model, Given, Answer], Generic[Model, Given, Answer, Reading]):
    """Examples that a model answers in one pass."""

    _states: PlainStates[Given] | None = None

    @abstractmethod
    def predict(self, model: Model, batch: Given) -> Any:
        """Run a model under its present gates on a batch, and return what it predicts, with `nbytes`, for `read`."""

    @abstractmethod
    def read(self, model: Model, batch: Given, plain: Any = None) -> Reading:
        """Run a model under its present gates on a batch, and return what is read; `plain` is what KL is from."""

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
        """Answer every example by the likeliest class or token."""
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
            return self.judge_reading(
                batches,
                lambda number: states.run(
                    number, partial(self.read, model, plain=states.predicted(number, partial(self.predict, model)))
                ),
            )


def _weights(model: HeadModel[Given]) -> list[tuple[Tensor, float]]:
    """Return parameters and buffers, each with the number of changes made to it in place.

    The number is NaN, which equals no other, for tensors that were created in inference mode: it is not counted there.
    """
    tensors = chain(model.model.parameters(), model.model.buffers())
    return [(tensor, math.nan if tensor.is_inference() else tensor._version) for tensor in tensors]
