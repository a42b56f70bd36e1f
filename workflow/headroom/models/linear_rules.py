"""Layer-wise relevance propagation (LRP) with the epsilon rule, as gradient x input under changed derivatives.

Within `LinearRules` a forward pass gives what it always gives, but its derivatives are those of a network that is
linear around the example, so that for every tensor on the way *tensor x gradient* is its relevance for the output
that is differentiated (Montavon et al. 2019, section 10.4; Ali et al. 2022 for Transformers):

    linear layer         R_i = sum over j of x_i w_ij / (z_j + epsilon sign(z_j)) R_j, z_j with its bias
    layer norm           linear, with the standard deviation a constant (Ali et al. 2022, LN rule); then as above
    attention            a weighted sum, with the weights constants (Ali et al. 2022, AH rule): all goes to the values
    relu, gelu, tanh     passed through as it is: non-linearities are ignored (Voita et al. 2019, appendix A)
    residual             each summand gets what it contributes, R_i = x_i / (x_1 + x_2) R (Voita et al. 2019, Eq. 5)

Voita's code splits the relevance of an attention product over weights and values, and propagates by the alpha-beta
rule. Constants take part as inputs: biases, embeddings, positions and whatever else is added. So nothing leaks: over
all inputs the relevances sum to the output, but for epsilon. The rules stand at functions of torch and not at modules:
they serve every engine, and an operation that they don't know (a product of two activations) breaks conservation.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

Rule = Callable[..., Any]


class LinearRules(TorchFunctionMode):
    """Changes the derivatives of what is computed within a `with` block, for parameters that need no gradient.

    Attributes:
        inputs: After the block, everything that relevance can end in: embeddings, biases and other constants.
    """

    def __init__(self, *, epsilon: float) -> None:
        """Prepare a block.

        Args:
            epsilon: Added to the size of a linear layer's outputs: what is small beside it gets no relevance.
        """
        super().__init__()
        self.inputs: list[Tensor] = []
        self._epsilon = epsilon
        self._rules = self._by_function()

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute a function by its rule; torch calls this, and no rule applies to what it calls in turn."""
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
        """Add; a summand that depends on no input is one, e.g. positions. Masks of attention end in a constant."""
        if _depends(x) and _is_constant(other):
            other = self._leaf(other)
        elif _depends(other) and _is_constant(x) and function is not Tensor.add_:
            x = self._leaf(x)
        return function(x, other, **kwargs)

    def _stabilised(self, z: Tensor) -> Tensor:
        """Let z / (z + epsilon sign(z)) of the gradient pass: the epsilon rule's denominator."""
        if z.requires_grad:
            size = z.detach().abs()
            passed = size / (size + self._epsilon)
            z.register_hook(lambda gradient: gradient * passed)
        return z


def _constant(function: Any, *args: Any, **kwargs: Any) -> Tensor:
    return function(*args, **kwargs).detach()


def _identity(function: Any, x: Tensor, **kwargs: Any) -> Tensor:
    """Return f(x) as x times the constant f(x) / x: its relevance goes to x undiminished. Here f(0) = 0."""
    y = function(x, **kwargs)
    if not x.requires_grad:
        return y
    linear = x * torch.where(x == 0, 0, y / x).detach()
    return y.detach() + (linear - linear.detach())  # f(x) to the bit


def _depends(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_constant(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and not value.requires_grad
