"""Evaluation sets whose answers are in the logits of one pass: states of the plain model are reused."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from headroom.core.interventions import Intervention
from headroom.engines.batch import Given
from headroom.engines.engine import Answer, EvaluationSet, Model, Outcome
from headroom.engines.gates import Replacements
from headroom.engines.hub.plain_states import PlainStates


class ReusingSet(EvaluationSet[Model, Given, Answer]):
    """Examples that a model answers by its logits."""

    _states: PlainStates[Given] | None = None

    @abstractmethod
    def judge_logits(self, batches: Sequence[Given], logits: Callable[[int], Tensor]) -> Outcome[Answer]:
        """Return the outcome of logits by the number of a batch."""

    @torch.inference_mode()
    def judge(self, model: Model) -> Outcome[Answer]:
        """Answer the set and compute all metrics and their resamples."""
        batches = self.batches(model)
        return self.judge_logits(batches, lambda number: model.logits(batches[number]))

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
        with model.gates.applied(intervention, replacements):
            return self.judge_logits(batches, self._states.logits)
