"""Negative log-likelihoods of pieces; on a CPU their logits stay in its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import TransformerDecoder

CHUNK = 64
"""Positions whose logits exist at a time on a CPU."""


class _Nats(torch.autograd.Function):
    """From features (N, D), output weights (V, D) and biases (V,) or None, and pieces (N,) to nats (N,).

    The gradient of a position's nats with respect to its features, (softmax - piece) @ weights, is computed in the
    forward pass; weights and biases get none.
    """

    @staticmethod
    def forward(context: Any, features: Tensor, weight: Tensor, bias: Tensor | None, pieces: Tensor) -> Tensor:
        slopes = torch.empty_like(features) if context.needs_input_grad[0] else None
        nats = features.new_empty(len(features))
        size = compute_chunk(features)
        for start in range(0, len(features), size):
            place = slice(start, start + size)
            wanted = pieces[place, None]
            logits = torch.nn.functional.linear(features[place], weight, bias)  # (n, V)
            odds = logits.softmax(-1)
            total = logits.amax(-1) - odds.amax(-1).log()  # the largest probability never underflows
            torch.sub(total, logits.gather(1, wanted)[:, 0], out=nats[place])
            if slopes is not None:
                odds.scatter_add_(1, wanted, torch.full_like(odds[:, :1], -1.0))
                torch.mm(odds, weight, out=slopes[place])
        context.save_for_backward(slopes)
        return nats

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        (slopes,) = context.saved_tensors
        return slopes * outer[:, None], None, None, None


def piece_nats(decoder: TransformerDecoder, features: Tensor, pieces: Tensor) -> Tensor:
    """Return the negative log-likelihoods in nats (N,) of pieces (N,), differentiable by the features only.

    `features` are what the output projection of a fairseq decoder gets, (N, width).
    """
    output = decoder.output_projection
    nats: Tensor = _Nats.apply(features, output.weight, output.bias, pieces)
    return nats


def compute_chunk(states: Tensor) -> int:
    """Return how many positions' logits are computed at a time, for states (N, width)."""
    return CHUNK if states.device.type == "cpu" else max(len(states), 1)
