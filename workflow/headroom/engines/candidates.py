"""The best pieces at some positions of a model, verified for a similar model without computing all logits.

With h and h' the features of a position in the one and in the other model, w_v the output weights of piece v, and c
their mean over all pieces, the scores <w_v - c, h'> differ from the logits by the same number for every piece. Of the
pieces that are not among the candidates, the best of the one model, <w_v - c, h'> <= <w_v - c, h> + |w_v - c| |h' - h|
(Cauchy-Schwarz). If the best candidate's score is above the largest of these bounds, it is the best piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_COUNT = 8
"""Candidates per position."""

_SLACK = 1e-3
"""Lead over other pieces, in nats, below which all logits are computed; errors of float32 are a hundredth of it."""

_PART = 4096
"""Pieces whose weights are compared with the mean at a time."""


class Projection:
    """Output weights, which give the scores of pieces.

    Attributes:
        reach: The largest |w_v - c| of a piece that can be produced.
        ranked: How many of the best pieces `Candidates` need.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, forbidden: Sequence[int]) -> None:
        """Store weights (V, D) and biases (V,), and the pieces that are never produced."""
        self._weight, self._bias = weight, bias
        self._mean = weight.mean(0)  # (D,)
        norms = torch.cat([(part - self._mean).norm(dim=1) for part in weight.split(_PART)])  # (V,)
        self.reach = norms.index_fill(0, torch.tensor([*forbidden], dtype=torch.long, device=norms.device), 0.0).max()
        self.ranked = min(_COUNT, len(weight) - len(forbidden) - 2) + 1

    def scores(self, pieces: Tensor, features: Tensor) -> Tensor:
        """Return the scores of pieces (N, K) with features (N, D): (N, K)."""
        own = torch.bmm(self._weight[pieces], features[:, :, None]).squeeze(2) - (features @ self._mean)[:, None]
        return own if self._bias is None else own + self._bias[pieces]


class Candidates:
    """The best pieces at some positions of a model, and a bound on the scores of all others."""

    def __init__(self, projection: Projection, features: Tensor, ranked: Tensor) -> None:
        """Store the features of N positions, (N, D), and the best pieces there, (N, `projection.ranked`)."""
        self._projection, self._features = projection, features
        self._pieces = ranked[:, :-1]
        self._rest = projection.scores(ranked[:, -1:], features)[:, 0]  # (N,)

    def best(self, features: Tensor, search: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the best pieces (N,) of another model at the same positions.

        Args:
            features: Its features there, (N, D).
            search: Returns the best pieces at some of the positions, which are given as indices, from all logits.
        """
        scores = self._projection.scores(self._pieces, features)  # (N, K)
        lead, first = scores.max(1, keepdim=True)
        second = scores.scatter(1, first, -torch.inf).amax(1)
        others = self._rest + self._projection.reach * (features - self._features).norm(dim=1)
        best = self._pieces.gather(1, first)[:, 0]
        unsure = (lead[:, 0] <= torch.maximum(second, others) + _SLACK).nonzero().squeeze(1)
        if len(unsure):
            best[unsure] = search(unsure)
        return best

    @property
    def size(self) -> int:
        """The bytes that are stored, without the weights."""
        return sum(tensor.nbytes for tensor in (self._features, self._pieces, self._rest))
