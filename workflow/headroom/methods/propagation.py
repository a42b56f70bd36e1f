"""Rules of layer-wise relevance propagation (Bach et al. 2015; Voita et al. 2019, Appendix A; Ding et al. 2017).

Every output of a layer is a sum of contributions z_i, z = sum_i z_i: an input times its weight, a bias, one of two
added states, an attention weight times a value. A rule divides the relevance R of z among them. All relevances are
obtained by automatic differentiation: a rule changes the gradient g of an operation such that input times gradient is
relevance, R = z g.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headroom.experiments.attention_stats.declared import RelevanceSettings

EPSILON = 1e-6
"""Sums of much smaller magnitude pass no relevance: far below the logits and states that are explained."""

Operation = Callable[..., Any]

Whole = Callable[[], Tensor]
"""Computes the sums z of an operation."""

BySign = Callable[[], tuple[Tensor, Tensor]]
"""Computes the sum of the positive and that of the negative contributions to every z; shapes as z."""


class Rule(Protocol):
    """How the relevance of a sum is divided among its contributions."""

    def weighted(self, whole: Whole, by_sign: BySign, /) -> Tensor:
        """Return z of a layer with weights, with the gradient of the rule."""

    def summed(self, whole: Whole, by_sign: BySign, /) -> Tensor:
        """Return z of a sum of states: two added ones, or those that attention averages."""


@dataclass(frozen=True)
class EpsilonRule:
    """R_i = z_i / (z + epsilon sign(z)) R for layers with weights; R_i = z_i / z R for other sums.

    Attributes:
        epsilon: Outputs of much smaller magnitude pass no relevance.
    """

    epsilon: float

    def weighted(self, whole: Whole, _: BySign, /) -> Tensor:
        """Scale the gradient by z / (z + epsilon sign(z))."""
        z = whole()
        if z.requires_grad:
            size = z.detach().abs()
            passed = size / (size + self.epsilon)
            z.register_hook(lambda gradient: gradient * passed)
        return z

    def summed(self, whole: Whole, _: BySign, /) -> Tensor:
        """Leave the gradient as it is."""
        return whole()


@dataclass(frozen=True)
class AlphaBetaRule:
    """R_i = (alpha z_i+ / sum_k z_k+ + beta z_i- / sum_k z_k-) R, beta = 1 - alpha, for all sums (Bach et al., Eq. 60).

    z+ is max(z, 0), z- is min(z, 0). If all contributions have the same sign, they get the whole relevance, so that
    none is lost.

    Attributes:
        alpha: Share of the relevance for positive contributions. At 0 to 1 all relevances have the sign of the output.
        epsilon: A sum of contributions of one sign of at most this magnitude counts as none.
    """

    alpha: float
    epsilon: float

    def weighted(self, whole: Whole, by_sign: BySign, /) -> Tensor:
        """Divide the relevance by the sign of the contributions."""
        with torch.no_grad():
            z = whole()
        shared: Tensor = _Shared.apply(z, *by_sign(), self)
        return shared

    summed = weighted

    def factors(self, z: Tensor, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the gradient of z is multiplied by for the sums of positive and of negative contributions."""
        some, others = positive > self.epsilon, negative < -self.epsilon
        one = torch.ones_like(z)
        alpha, beta = torch.where(others, self.alpha, one), torch.where(some, 1 - self.alpha, one)
        return torch.where(some, alpha * z / positive, 0.0), torch.where(others, beta * z / negative, 0.0)


def choose_rule(settings: RelevanceSettings) -> Rule:
    """Return the rule of the settings."""
    if settings.rule == "epsilon":
        return EpsilonRule(EPSILON)
    return AlphaBetaRule(settings.alpha, EPSILON)


class _Shared(torch.autograd.Function):
    """Returns z, bit for bit, and passes its gradient on by an `AlphaBetaRule`."""

    @staticmethod
    def forward(context: Any, z: Tensor, positive: Tensor, negative: Tensor, rule: AlphaBetaRule) -> Tensor:
        context.save_for_backward(z, positive, negative)
        context.rule = rule
        return z.clone()  # models may change it in place

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        to_positive, to_negative = context.rule.factors(*context.saved_tensors)
        return None, gradients[0] * to_positive, gradients[0] * to_negative, None


class LinearRules(TorchFunctionMode):
    """Changes the derivatives of operations within a `with` block, for parameters without gradient.

    Attributes:
        inputs: After the block, all endpoints of relevance: embeddings, biases and other constants.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.inputs: list[Tensor] = []
        self._rule = rule
        self._operations = self._by_function()

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute a function with its changed derivative; called by torch. Nested calls are not changed."""
        operation = self._operations.get(function)
        given = kwargs or {}
        return function(*args, **given) if operation is None else operation(function, *args, **given)

    def _by_function(self) -> dict[Any, Operation]:
        found: dict[Any, Operation] = {
            functional.embedding: self._input,
            functional.linear: self._linear,
            functional.conv1d: self._linear,
            functional.layer_norm: self._layer_norm,
            functional.scaled_dot_product_attention: self._attention,
        }
        found |= dict.fromkeys((functional.softmax, torch.softmax, Tensor.softmax), _constant)
        found |= dict.fromkeys((functional.gelu, functional.silu, torch.tanh, Tensor.tanh), _identity)
        products = (torch.bmm, Tensor.bmm, torch.matmul, Tensor.matmul, Tensor.__matmul__)
        found |= dict.fromkeys(products, self._average)
        return found | dict.fromkeys((torch.add, Tensor.add, Tensor.add_), self._add)  # + and += too

    def _input(self, function: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._leaf(function(*args, **kwargs))

    def _leaf(self, constant: Tensor) -> Tensor:
        leaf = constant.detach().requires_grad_()
        self.inputs.append(leaf)
        return leaf

    def _linear(self, function: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None, *more: Any) -> Tensor:
        if not x.requires_grad:
            return function(x, weight, bias, *more)
        leaf = None if bias is None else self._leaf(bias)

        def by_sign() -> tuple[Tensor, Tensor]:
            (above, below), (up, down) = _signs(x), _signs(weight)
            raises, lowers = (None, None) if leaf is None else _signs(leaf)
            positive = function(above, up, raises, *more) + function(below, down, None, *more)
            return positive, function(above, down, lowers, *more) + function(below, up, None, *more)

        return self._rule.weighted(lambda: function(x, weight, leaf, *more), by_sign)

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
        leaf = None if bias is None else self._leaf(bias)

        def whole() -> Tensor:
            y = (x - x.mean(features, keepdim=True)) / deviation
            y = y if weight is None else y * weight
            return y if leaf is None else y + leaf

        def by_sign() -> tuple[Tensor, Tensor]:
            above, below = _signs(x)
            raised, lowered = _centre(above, below, features), _centre(below, above, features)
            up, down = _signs((1 if weight is None else weight) / deviation)
            positive, negative = raised * up + lowered * down, raised * down + lowered * up
            if leaf is None:
                return positive, negative
            raises, lowers = _signs(leaf)
            return positive + raises, negative + lowers

        return self._rule.weighted(whole, by_sign)

    def _attention(self, function: Any, query: Tensor, key: Tensor, value: Tensor, *more: Any, **kwargs: Any) -> Tensor:
        """Attend with constant weights, which are not negative."""

        def averaged(values: Tensor) -> Tensor:
            return function(query.detach(), key.detach(), values, *more, **kwargs)

        if not value.requires_grad:
            return averaged(value)
        return self._rule.summed(lambda: averaged(value), lambda: (averaged(value.relu()), averaged(-(-value).relu())))

    def _average(self, function: Any, weights: Any, values: Any) -> Tensor:
        """Multiply by a constant matrix, e.g. attention weights; a product of two states has no rule."""
        if not (_depends(values) and _is_constant(weights)):
            return function(weights, values)

        def by_sign() -> tuple[Tensor, Tensor]:
            (up, down), (above, below) = _signs(weights), _signs(values)
            return function(up, above) + function(down, below), function(up, below) + function(down, above)

        return self._rule.summed(lambda: function(weights, values), by_sign)

    def _add(self, function: Any, x: Any, other: Any, **kwargs: Any) -> Tensor:
        """Add; a summand without inputs is itself an input, e.g. positions. Attention masks end in a constant."""
        if _depends(x) and _is_constant(other):
            other = self._leaf(other)
        elif _depends(other) and _is_constant(x) and function is not Tensor.add_:
            x = self._leaf(x)
        if kwargs or not (_depends(x) and _depends(other)):
            return function(x, other, **kwargs)

        def by_sign() -> tuple[Tensor, Tensor]:
            (above, below), (raises, lowers) = _signs(x), _signs(other)
            return above + raises, below + lowers

        total = self._rule.summed(lambda: torch.add(x, other), by_sign)
        return x.copy_(total) if function is Tensor.add_ else total


def _signs(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return max(x, 0) and min(x, 0); in neither does a later change of x in place reach the gradient."""
    return x.relu(), -(-x).relu()


def _centre(same: Tensor, other: Tensor, features: tuple[int, ...]) -> Tensor:
    """Return the contributions of one sign to x - mean(x), from the parts of x of the same and of the other sign.

    In x_i - mean(x), x_i has the factor 1 - 1/n, and every other x_k the factor -1/n.
    """
    return same - same / _size(same, features) - (other.sum(features, keepdim=True) - other) / _size(same, features)


def _size(x: Tensor, features: tuple[int, ...]) -> int:
    return int(torch.Size(x.shape[place] for place in features).numel())


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
