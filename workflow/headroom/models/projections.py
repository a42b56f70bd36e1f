"""The weights whose rows are the heads of a site, in a model that is trained."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from headroom.ground.heads import Site

Projections = Mapping[Site, Sequence[nn.Parameter]]
"""The weights of each site whose rows are its heads: query, key and value, each (heads * head_dim, width)."""


def gradient_norm(weights: Iterable[nn.Parameter]) -> Tensor:
    """Return the Euclidean norm of the gradients of weights together, (); 0 without gradients."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    return torch.stack(torch._foreach_norm(gradients)).norm() if gradients else torch.zeros(())
