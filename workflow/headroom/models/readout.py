"""Tokens read from the states that a model projects to logits, a part of the vocabulary at a time.

A batch's logits of all tokens are its largest tensor by far: to write and to read them takes longer than to compute
them. Losses and the likeliest tokens are therefore found part by part, at the positions that are asked for alone.
Results are those of whole logits up to rounding.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedModel

from headroom.models.translation_scores import Projection

_COMPARED = 64
"""Places at which whole logits are compared at a time."""

_ROOM = {"cpu": 2**20, "cuda": 2**26}
"""Logits that exist at a time, by the type of the device: about as many as its caches, or memory, hold with ease."""

Parts = Iterable[tuple[int, Tensor]]
"""The first token of each part of the vocabulary, and the logits of the part, (N, tokens) in float32 or better."""


class Readout:
    """The projection of a model's last states to the logits of all tokens.

    The first pass shows whether the logits are nothing but this projection. If they are not, because a model caps or
    scales them for example, whole logits are computed, and read in parts.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._output: Any = model.get_output_embeddings()
        self._projects: bool | None = None

    def read(self, run: Callable[[], Tensor], places: Tensor) -> "Reading":
        """Return what a pass shows at some places.

        Args:
            run: A pass of the model, which returns its logits, (B, T, V).
            places: The positions that are read, (B, T); there are N of them.
        """
        output = self._output
        if self._projects is None:
            self._projects = type(output) is nn.Linear and self._is_whole(output, run)
        if not self._projects:
            return Reading(run()[places])
        with _kept_from(output) as states:
            run()
        (features,) = states
        return Reading(features[places], output.weight, self._bias(output))

    def predict(self, run: Callable[[], Tensor], places: Tensor, target: Tensor) -> "Predicted":
        """Return what a pass predicts at the places of targets, (N,); arguments else as for `read`.

        Of whole logits only what the body of the model returns is kept, from which its head makes them again.
        """
        body: Any = self._model.base_model
        states: list[Any] = []
        handle = body.register_forward_hook(lambda _, __, found: states.append(found))
        reading = self.read(run, places)
        handle.remove()
        if self._projects:
            return reading.predict(target)

        def read_again() -> Reading:
            body.forward = lambda *_, **__: states[-1]
            try:
                return Reading(run()[places])
            finally:
                del body.forward

        if body is self._model or not torch.equal(read_again().features, reading.features):
            return Predicted(lambda: reading, reading.features.nbytes)
        return Predicted(read_again, sum(leaf.nbytes for leaf in tree_leaves(states[-1]) if isinstance(leaf, Tensor)))

    def _is_whole(self, output: nn.Linear, run: Callable[[], Tensor]) -> bool:
        """Return whether the logits of a pass are those of the projection, called once, with the model's own bias."""
        projected: list[Tensor] = []
        handle = output.register_forward_hook(lambda _, __, found: projected.append(found))
        logits = run()
        handle.remove()
        added = self._added()
        return len(projected) == 1 and torch.equal(
            logits, (projected[0] if added is None else projected[0] + added).to(logits.dtype)
        )

    def _added(self) -> Tensor | None:
        """Return what BART and its like add to the projection, (1, V); None if that is zero."""
        added: Tensor | None = getattr(self._model, "final_logits_bias", None)
        return added if added is not None and added.any() else None

    def _bias(self, output: nn.Linear) -> Tensor | None:
        own, added = output.bias, self._added()
        if added is None or own is None:
            return own if added is None else added[0]
        return own + added[0]


class Reading:
    """What a pass shows at N places: its features, which output weights project to logits, or the logits themselves."""

    def __init__(self, states: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> None:
        """Store features (N, D) with weights (V, D) and biases (V,), or without weights logits (N, V)."""
        self._states, self._weight, self._bias = states, weight, bias

    def at(self, rows: Tensor) -> "Reading":
        """Return what it shows at some of the places."""
        return Reading(self._states[rows], self._weight, self._bias)

    def parts(self, rows: Tensor | None = None) -> Iterator[tuple[int, Tensor]]:
        """Yield the parts of the logits, see `Parts`, at some of the places or at all. They may be changed."""
        states = self._states if rows is None else self._states[rows]
        tokens = states.shape[1] if self._weight is None else len(self._weight)
        width = max(1, _ROOM.get(states.device.type, 2**20) // max(1, len(states)))
        for start in range(0, tokens, width):
            logits = self._cut(states, slice(start, start + width))
            yield start, logits.to(torch.promote_types(logits.dtype, torch.float32), copy=self._weight is None)

    def project(self, forbidden: Sequence[int]) -> Projection | None:
        """Return the output weights, of which some tokens are never produced; None without weights of 32 bits."""
        if self._weight is None or self._weight.dtype not in (torch.float32, torch.float64):
            return None
        return Projection(self._weight, self._bias, forbidden)

    def predict(self, target: Tensor) -> "Predicted":
        """Return what is predicted at all places, for `Predicted.diverge`; `target` are the right tokens there."""
        if self._weight is None or self._weight.dtype not in (torch.float32, torch.float64):
            return Predicted(lambda: self, self._states.nbytes)
        nats = read_nats(self.parts(), target)
        normaliser = torch.stack([logits.logsumexp(1) for _, logits in self.parts()]).logsumexp(0)  # (N,)
        slope = -self._weight[target]  # (N, D)
        for start, logits in self.parts():
            shares = logits.sub_(normaliser[:, None]).exp_()  # (N, tokens)
            slope.addmm_(shares, self._weight[start : start + shares.shape[1]])
        return Predicted(None, slope.nbytes, slope, nats - torch.linalg.vecdot(slope.double(), self._states.double()))

    @property
    def features(self) -> Tensor:
        """The features of a model whose weights `project` returns, (N, D)."""
        return self._states

    def _cut(self, states: Tensor, tokens: slice) -> Tensor:
        if self._weight is None:
            return states[:, tokens]
        return nn.functional.linear(states, self._weight[tokens], None if self._bias is None else self._bias[tokens])


class Predicted:
    """What a model predicts at N places, from which the predictions of others there diverge.

    If logits are a projection of features, the loss of a token is convex in the features, and KL(p || q) is how far the
    loss at q's features lies above its tangent at p's: the Bregman divergence of an exponential family (Banerjee et al.
    2005). So a line per place is kept, and no logits are computed again. Logits of other models, and those of less than
    32 bits, which are rounded, are compared as they are.
    """

    def __init__(
        self,
        read: Callable[[], Reading] | None,
        nbytes: int,
        slope: Tensor | None = None,
        start: Tensor | None = None,
    ) -> None:
        """Store what reads whole logits, or the tangents: slopes (N, D), and values at features of 0, (N,)."""
        self._read, self.nbytes, self._slope, self._start = read, nbytes, slope, start

    def diverge(self, other: Reading, nats: Tensor) -> Tensor:
        """Return KL(this || other) in nats at all places, (N,) in float64; `nats` are losses of the other's tokens."""
        if self._slope is not None and self._start is not None:
            return nats - self._start - torch.linalg.vecdot(self._slope.double(), other.features.double())
        assert self._read
        whole, found = self._read(), list[Tensor]()
        for rows in torch.arange(len(nats), device=nats.device).split(_COMPARED):
            before, after = (
                torch.cat([part for _, part in one.parts(rows)], 1).log_softmax(1) for one in (whole, other)
            )
            found.append((before.exp() * (before - after)).where(before > -torch.inf, 0.0).sum(1, dtype=torch.float64))
        return torch.cat([*found, nats.new_zeros(0, dtype=torch.float64)])


@contextmanager
def _kept_from(output: Any) -> Iterator[list[Tensor]]:
    """Keep the states that a projection is called with from it within a block; it returns logits without any row."""
    states: list[Tensor] = []

    def keep(given: Tensor) -> Tensor:
        states.append(given)
        return given.new_zeros(0, 1, output.out_features)

    output.forward = keep
    try:
        yield states
    finally:
        del output.forward


def read_tokens(parts: Parts, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood of the targets in nats (N,), and the likeliest tokens (N,).

    `target` are the right tokens at the places of the parts, (N,).
    """
    best = _Best(target)
    return _sum_up(parts, target, best.add), best.tokens


def read_nats(parts: Parts, target: Tensor) -> Tensor:
    """Return the negative log-likelihood of the targets in nats (N,); they are those of `read_tokens`."""
    return _sum_up(parts, target, lambda _, logits: logits.amax(1))


def _sum_up(parts: Parts, target: Tensor, find_largest: Callable[[int, Tensor], Tensor]) -> Tensor:
    wanted, sums = torch.full_like(target, -torch.inf, dtype=torch.float64), []
    for start, logits in parts:
        place = target - start
        inside = (place >= 0) & (place < logits.shape[1])
        own = logits.gather(1, place.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
        wanted = torch.where(inside, own.double(), wanted)
        # of impossible tokens alone the largest is infinite
        largest = find_largest(start, logits).clamp(min=torch.finfo(logits.dtype).min)
        sums.append(logits.sub_(largest[:, None]).exp_().sum(1).double().log() + largest)
    return (torch.stack(sums).logsumexp(0) - wanted).to(logits.dtype)


def best_tokens(parts: Parts, like: Tensor) -> Tensor:
    """Return the likeliest tokens at the places of the parts, (N,), as integers like those of a tensor (N,)."""
    best = _Best(like)
    for start, logits in parts:
        best.add(start, logits)
    return best.tokens


def rank_tokens(parts: Parts, count: int) -> Tensor:
    """Return the likeliest tokens at the places of the parts, the likeliest first, (N, count)."""
    values, tokens = None, None
    for start, logits in parts:
        own, places = logits.topk(min(count, logits.shape[1]), 1)
        values = own if values is None else torch.cat([values, own], 1)
        tokens = places + start if tokens is None else torch.cat([tokens, places + start], 1)
        values, kept = values.topk(min(count, values.shape[1]), 1)
        tokens = tokens.gather(1, kept)
    assert tokens is not None
    return tokens


class _Best:
    """The likeliest tokens so far; of equal ones the first."""

    def __init__(self, like: Tensor) -> None:
        self.tokens = torch.zeros_like(like)
        self._values = torch.full_like(like, -torch.inf, dtype=torch.float64)

    def add(self, start: int, logits: Tensor) -> Tensor:
        """Take a part into account, and return its largest logits, (N,)."""
        values, places = logits.max(1)
        better = values > self._values
        self.tokens = torch.where(better, places + start, self.tokens)
        self._values = torch.where(better, values.double(), self._values)
        return values
