"""Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, Section 4; Ding et al. 2017)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headroom.core import statistics
from headroom.core.heads import HALVES, Head, Site
from headroom.engines.head_model import HeadModel

Rule = Callable[..., Any]


class LinearRules(TorchFunctionMode):
    """Changes the derivatives of operations within a `with` block, for parameters without gradient.

    Attributes:
        inputs: After the block, all endpoints of relevance: embeddings, biases and other constants.
    """

    def __init__(self, *, epsilon: float) -> None:
        """`epsilon` is added to the magnitude of a linear layer's outputs: much smaller outputs get no relevance."""
        super().__init__()
        self.inputs: list[Tensor] = []
        self._epsilon = epsilon
        self._rules = self._by_function()

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute a function by its rule; called by torch. Rules do not apply to nested calls."""
        rule = self._rules.get(function)
        given = kwargs or {}
        return function(*args, **given) if rule is None else rule(function, *args, **given)

    def _by_function(self) -> dict[Any, Rule]:
        rules: dict[Any, Rule] = {
            functional.embedding: self._input,
            functional.linear: self._linear,
            functional.conv1d: self._linear,
            functional.layer_norm: self._layer_norm,
            functional.scaled_dot_product_attention: self._attention,
        }
        rules |= dict.fromkeys((functional.softmax, torch.softmax, Tensor.softmax), _constant)
        rules |= dict.fromkeys((functional.gelu, functional.silu, torch.tanh, Tensor.tanh), _identity)
        return rules | dict.fromkeys((torch.add, Tensor.add, Tensor.add_), self._add)  # + and += too

    def _input(self, function: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._leaf(function(*args, **kwargs))

    def _leaf(self, constant: Tensor) -> Tensor:
        leaf = constant.detach().requires_grad_()
        self.inputs.append(leaf)
        return leaf

    def _linear(self, function: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None, *more: Any) -> Tensor:
        if not x.requires_grad:
            return function(x, weight, bias, *more)
        return self._stabilised(function(x, weight, None if bias is None else self._leaf(bias), *more))

    def _layer_norm(
        self,
        function: Any,
        x: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        if not x.requires_grad:
            return function(x, normalized_shape, weight, bias, eps)
        features = tuple(range(-len(normalized_shape), 0))
        deviation = (x.detach().var(features, correction=0, keepdim=True) + eps).sqrt()
        y = (x - x.mean(features, keepdim=True)) / deviation
        y = y if weight is None else y * weight
        return self._stabilised(y if bias is None else y + self._leaf(bias))

    def _attention(self, function: Any, query: Tensor, key: Tensor, value: Tensor, *more: Any, **kwargs: Any) -> Tensor:
        return function(query.detach(), key.detach(), value, *more, **kwargs)

    def _add(self, function: Any, x: Any, other: Any, **kwargs: Any) -> Tensor:
        """Add; a summand without inputs is itself an input, e.g. positions. Attention masks end in a constant."""
        if _depends(x) and _is_constant(other):
            other = self._leaf(other)
        elif _depends(other) and _is_constant(x) and function is not Tensor.add_:
            x = self._leaf(x)
        return function(x, other, **kwargs)

    def _stabilised(self, z: Tensor) -> Tensor:
        """Scale the gradient by z / (z + epsilon sign(z)), the denominator of the epsilon rule."""
        if z.requires_grad:
            size = z.detach().abs()
            passed = size / (size + self._epsilon)
            z.register_hook(lambda gradient: gradient * passed)
        return z


def _constant(function: Any, *args: Any, **kwargs: Any) -> Tensor:
    return function(*args, **kwargs).detach()


def _identity(function: Any, x: Tensor, **kwargs: Any) -> Tensor:
    """Return f(x) as x times the constant f(x) / x: all its relevance is passed to x. Here f(0) = 0."""
    y = function(x, **kwargs)
    if not x.requires_grad:
        return y
    linear = x * torch.where(x == 0, 0, y / x).detach()
    return y.detach() + (linear - linear.detach())  # bitwise equal to f(x)


def _depends(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_constant(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and not value.requires_grad


MEASURES = ("relevance", "signed")


@dataclass(frozen=True)
class Relevances:
    """Relevance of every head on a set, example by example.

    Attributes:
        steps: Generation steps of each example, (N,).
        sums: By measure and site, the sum over an example's steps, (N, H): of shares of relevance within the site
            (0 for all if no head of the site has relevance), and of signed relevance in units of the logit.
        conservation_error: Largest |sum of relevances over all inputs - explained logits| / sum of |explained
            logits|, over all steps of all batches.
    """

    steps: ndarray
    sums: dict[str, dict[Site, ndarray]]
    conservation_error: float


class Estimate(NamedTuple):
    """A mean over generation steps and its 95 % bootstrap interval over examples."""

    value: float
    low: float
    high: float
    steps: int


def relevances(
    model: HeadModel, batches: Iterable[Any], *, epsilon: float, removed: Collection[Head] = ()
) -> Relevances:
    """Return the relevance of all heads for the likeliest output at every step of a set.

    The model is in eval mode, and its parameters need no gradient. Removed heads have no relevance.
    """
    found = [(batch.positions, _batch_relevance(model, batch, epsilon, removed)) for batch in batches]
    order = numpy.argsort([position for positions, _ in found for position in positions])
    parts = [part for _, part in found]
    return Relevances(
        steps=numpy.concatenate([part.steps for part in parts])[order],
        sums={
            measure: {
                site: numpy.concatenate([part.sums[measure][site] for part in parts])[order] for site in model.sites
            }
            for measure in MEASURES
        },
        conservation_error=max(part.conservation_error for part in parts),
    )


def estimates(found: Relevances, measure: str, half: str) -> dict[Head, Estimate]:
    """Return a measure of all heads on a half of the examples: the mean over the half's generation steps.

    Raises:
        HeadroomError: If the half is empty.
    """
    rows = HALVES[half]
    steps = found.steps[rows]
    weights = statistics.resampling_weights(statistics.resampled_indices(len(steps)))  # (resamples, examples)
    resampled_steps = (weights @ steps)[:, None]
    estimated: dict[Head, Estimate] = {}
    for site, sums in found.sums[measure].items():
        resampled = weights @ sums[rows] / resampled_steps  # (resamples, H)
        values = sums[rows].sum(axis=0) / steps.sum()
        for column, head in enumerate(site.head_names()):
            interval = statistics.interval(resampled[:, column])
            estimated[head] = Estimate(float(values[column]), *interval, int(steps.sum()))
    return estimated


def _batch_relevance(model: HeadModel, batch: Any, epsilon: float, removed: Collection[Head]) -> Relevances:
    """Return the relevances of a batch, its examples in the order of its rows.

    Logits of different examples are independent: one backward pass per step explains the step of all examples.
    """
    with torch.no_grad():
        steps = model.losses(batch)[1].to(model.device)  # (B,)
    top, seen, inputs = _explained(model, batch, epsilon, removed)  # (B, S)
    real = torch.arange(top.shape[1], device=top.device) < steps[:, None]  # (B, S); the rest is padding
    sums = {
        measure: {site: torch.zeros(len(steps), site.heads, dtype=torch.float64) for site in model.sites}
        for measure in MEASURES
    }
    kept = {live.site: [index - 1 for index in live.kept] for live in model.live_sites}
    errors = []
    for step in range(top.shape[1]):
        signed, error = _propagated(top[:, step][real[:, step]], seen, inputs)
        for site, values in signed.items():  # (B, K); rows of padding are zero
            sums["signed"][site][:, kept[site]] += values
            sums["relevance"][site][:, kept[site]] += _shares(values)
        errors.append(error)
    return Relevances(
        steps=steps.cpu().numpy(),
        sums={measure: {site: value.numpy() for site, value in sites.items()} for measure, sites in sums.items()},
        conservation_error=max(errors),
    )


def _explained(
    model: HeadModel, batch: Any, epsilon: float, removed: Collection[Head]
) -> tuple[Tensor, dict[Site, Tensor], list[Tensor]]:
    """Return the likeliest output's logit at every step (B, S), every site's z (T, B, K, d), and all inputs."""
    seen: dict[Site, Tensor] = {}

    def keep(site: Site, z: Tensor) -> None:
        seen[site] = z

    rules = LinearRules(epsilon=epsilon)
    with torch.enable_grad(), model.gates.masked(removed), model.gates.observed(keep), rules:
        top = model.logits(batch).max(-1).values  # (B, S, V) or (B, C) -> (B, S) or (B,)
        return (top if top.dim() == 2 else top[:, None]), seen, rules.inputs


def _propagated(explained: Tensor, seen: dict[Site, Tensor], inputs: list[Tensor]) -> tuple[dict[Site, Tensor], float]:
    """Propagate logits of some of the examples back to the heads of every site, (B, K).

    Also returns the deviation of the inputs' total relevance from the logits, relative to the logits' magnitude.
    """
    tensors = [*seen.values(), *inputs]
    gradients = torch.autograd.grad(explained.sum(), tensors, retain_graph=True, allow_unused=True)
    products = [_product(*pair) for pair in zip(tensors, gradients)]
    signed = {site: product.sum((0, -1)).cpu() for site, product in zip(seen, products)}  # (T, B, K, d) -> (B, K)
    logits = explained.detach().double()
    leaked = sum(float(product.sum()) for product in products[len(seen) :]) - float(logits.sum())
    return signed, abs(leaked) / (float(logits.abs().sum()) or 1.0)


def _product(tensor: Tensor, gradient: Tensor | None) -> Tensor:
    """Return relevance; 0 for tensors that the output does not depend on, even if infinite, as in masks."""
    return (torch.zeros_like(tensor) if gradient is None else tensor * gradient).detach().double()


def _shares(signed: Tensor) -> Tensor:
    """Return |R_h| / sum of |R_h'| of relevances (B, K); 0 for all if no head has any."""
    sizes = signed.abs()
    total = sizes.sum(-1, keepdim=True)
    return torch.where(total > 0, sizes / total, 0.0)
