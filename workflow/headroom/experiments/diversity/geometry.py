"""Geometry of the heads of a site as particles: norms, kernel, and the direction of repulsion.

All measures are of one system: a projection (query, key or value) of one site. Kernel, bandwidth and repulsion R are
those of the training arms (`headroom.training.repulsion.particles`, with the median over pairs).

    measure                meaning
    norm                   Frobenius norm of the projection's weights
    kernel_mean            mean kernel between two heads; 1 if all are equal
    kernel_sd              its standard deviation over the pairs of heads: 0 if all pairs are equally close
    repulsion_from_origin  mean over heads of cos(R_i, x_i): 1 if repulsion only makes each head grow
    repulsion_from_mean    mean over heads of cos(R_i, x_i - mean of x): 1 if repulsion spreads heads about their mean

A cosine with a vector of length 0 is 0. For heads that are all about equally far apart, the kernel is a constant k and
R_i = k M (x_i - mean of x) / h^2; if their mean is also small, repulsion is growth.
"""

from typing import Any

import torch
from torch import Tensor

from headroom.training.repulsion.particles import bandwidth, directions, kernel, measure_distances, repulsion

PROJECTIONS = ("query", "key", "value")
"""The systems of a site in order; learned queries (Lin et al. 2017) have only the first."""

MEASURES = ("norm", "kernel_mean", "kernel_sd", "repulsion_from_origin", "repulsion_from_mean")


@torch.no_grad()
def geometry(particles: Tensor) -> dict[str, float]:
    """Return the measures of one system of two or more particles, (heads, parameters)."""
    x = particles.double()[None]  # (1, heads, parameters)
    squared = measure_distances(x)
    width = bandwidth(squared)
    weights = kernel(squared, width)  # (1, heads, heads)
    repelled = directions(repulsion(x, weights, width))  # (1, heads, parameters)
    pairs = _pairs(weights[0])  # (heads * (heads - 1) / 2,)
    values: dict[str, Any] = {
        "norm": x.norm(),
        "kernel_mean": pairs.mean(),
        "kernel_sd": pairs.std(correction=0),
        "repulsion_from_origin": _mean_cosine(repelled, x),
        "repulsion_from_mean": _mean_cosine(repelled, x - x.mean(dim=1, keepdim=True)),
    }
    return {measure: values[measure].item() for measure in MEASURES}


def _pairs(weights: Tensor) -> Tensor:
    """Return the entries (pairs,) of a matrix (heads, heads) above its diagonal."""
    heads = len(weights)
    rows, columns = torch.triu_indices(heads, heads, offset=1, device=weights.device)
    return weights[rows, columns]


def _mean_cosine(unit: Tensor, vectors: Tensor) -> Tensor:
    """Return the mean over heads of the cosine between unit vectors and others, both (1, heads, parameters)."""
    return (unit * directions(vectors)).sum(dim=-1).mean()
