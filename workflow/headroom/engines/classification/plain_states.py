"""States of the plain model, reused under interventions: only what follows the first changed site is computed.

A module that has returned before the output projection of the first changed site is called has the inputs of the plain
model, and thus its output: the embeddings, the layers below, and attention in the layer of that site. These outputs are
stored the first time they are computed, and returned from then on instead of being computed again. Of the last layer
only what the classification head reads is computed. The logits are those of a whole forward pass up to rounding.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from headroom.core.heads import Site
from headroom.core.interventions import Intervention
from headroom.engines.classification.first_position import read_at_first_position
from headroom.engines.classification.model import Batch, ClassificationModel

LIMIT = 2**30
"""Default bound of the stored states of a set in bytes."""

_ROUNDING = 1e-5
"""Tolerance of the check as a share of the largest logit."""


class PlainStates:
    """The states of a model in eval mode on the batches of a set.

    Only the first batches are stored, as many as fit into the limit. If the check on one example fails, because a model
    modifies its states in place for example, nothing is stored.
    """

    def __init__(self, model: ClassificationModel, batches: Sequence[Batch], *, limit: int = LIMIT) -> None:
        """Trace the model on one example; at most `limit` bytes are stored."""
        self._model = model
        self._batches = batches
        self._weights = _weights(model)
        trial = {name: tensor[-1:] for name, tensor in batches[-1].inputs.items()}  # of the set's longest
        self._reusable, size = _traced(model, trial)
        self._last = read_at_first_position(model.model, model.live_sites, trial)
        if not self._agrees(trial):
            self._reusable, self._last = {}, None
        positions = torch.tensor([batch.inputs["input_ids"].numel() for batch in batches]).cumsum(0)
        stored = int((positions * size <= limit * trial["input_ids"].numel()).sum())
        self._stored: list[dict[nn.Module, Any]] = [{} for _ in range(stored)]

    def belong_to(self, model: ClassificationModel) -> bool:
        """Return whether this is the model that they are of, with the same modules and weights."""
        now = _weights(model) if model is self._model else []
        return len(now) == len(self._weights) and all(
            one is other and version == before for (one, version), (other, before) in zip(now, self._weights)
        )

    def logits(self, number: int) -> Tensor:
        """Return the logits of a batch, (B, classes), under the model's present gates; batches count from 0."""
        with self._reused(self._stored[number] if number < len(self._stored) else None):
            return self._model.logits(self._batches[number])

    @contextmanager
    def _reused(self, stored: dict[nn.Module, Any] | None) -> Iterator[None]:
        """Let the modules before the first changed site run only if their outputs are not stored yet."""
        changed = self._model.gates.changed
        first = next((site for site in self._reusable if site in changed), None)
        with ExitStack() as restored:
            if first and stored is not None:
                for module in self._reusable[first]:
                    module.forward = _once(module, stored)
                    restored.callback(delattr, module, "forward")
            if first and self._last:
                restored.enter_context(self._last.at_first_position())
            yield

    def _agrees(self, trial: dict[str, Tensor]) -> bool:
        """Return whether the logits of an example without a head of each site in turn are those of a whole pass."""
        stored: dict[nn.Module, Any] = {}
        for live in (live for live in self._model.live_sites if live.site in self._reusable):
            with self._model.gates.applied(Intervention.without(live.kept_heads()[0])):
                whole = self._model.model(**trial)[0]
                for _ in range(2):  # states are stored, then reused
                    with self._reused(stored):
                        difference = (self._model.model(**trial)[0] - whole).abs().max()
                    if not difference <= _ROUNDING * whole.abs().max():
                        return False
        return True


def _weights(model: ClassificationModel) -> list[tuple[Tensor, float]]:
    """Return parameters and buffers, each with the number of changes made to it in place.

    The number is NaN, which equals no other, for tensors that were created in inference mode: it is not counted there.
    """
    tensors = chain(model.model.parameters(), model.model.buffers())
    return [(tensor, math.nan if tensor.is_inference() else tensor._version) for tensor in tensors]


def _once(module: nn.Module, stored: dict[nn.Module, Any]) -> Callable[..., Any]:
    forward = module.forward

    def computed(*inputs: Any, **options: Any) -> Any:
        if module not in stored:
            stored[module] = forward(*inputs, **options)
        return stored[module]

    return computed


def _traced(model: ClassificationModel, inputs: dict[str, Tensor]) -> tuple[dict[Site, list[nn.Module]], int]:
    """Return the modules that have returned when a site's output projection is called, and the size of their outputs.

    Modules within other such modules, and those that run several times, are left out. Sites are in the order of calls;
    the size is that of all outputs together in bytes.
    """
    outputs = {live.output: live.site for live in model.live_sites if live.kept}
    open_calls: list[list[nn.Module]] = [[]]  # of each running module, those within it that have returned
    reusable: dict[Site, list[nn.Module]] = {}
    calls: Counter[nn.Module] = Counter()
    sizes: dict[nn.Module, int] = {}

    def begin(module: nn.Module, _: Any) -> None:
        if module in outputs:
            reusable[outputs[module]] = [done for call in open_calls for done in call]
        calls[module] += 1
        open_calls.append([])

    def end(module: nn.Module, _: Any, output: Any) -> None:
        open_calls.pop()
        open_calls[-1].append(module)
        sizes[module] = sum(leaf.nbytes for leaf in tree_leaves(output) if isinstance(leaf, Tensor))

    with ExitStack() as hooks:
        for module in model.model.modules():
            hooks.callback(module.register_forward_pre_hook(begin).remove)
            hooks.callback(module.register_forward_hook(end).remove)
        model.model(**inputs)
    reusable = {site: [module for module in done if calls[module] == 1] for site, done in reusable.items()}
    return reusable, sum(sizes[module] for module in set(chain.from_iterable(reusable.values())))
