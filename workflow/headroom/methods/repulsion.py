"""What particles feel of each other: the kernel between them, its width, and the force that it makes.

A *system* is a set of particles that see each other: one projection (Q, K or V) of one site. A
particle is one head, i.e. its rows of the projection's weight, flattened. All functions take many
systems at once, shape (systems, heads, parameters), and loop over neither systems nor heads.

Sources: Liu & Wang 2016; An et al. 2020, section 3 and their released code, which takes the median over all
entries of the distance matrix, the zeros of its diagonal among them (`with-diagonal`). Unlike there a particle
is a contiguous block of rows, i.e. really a head.
"""

import math

import torch
from torch import Tensor


def squared_distances(particles: Tensor) -> Tensor:
    """Return the squared Euclidean distance of every pair of particles.

    Differences are formed before squaring, so that (nearly) equal particles get (nearly) zero and not
    the rounding error of their norms.

    Args:
        particles: (systems, heads, parameters).

    Returns:
        (systems, heads, heads), zero on the diagonal.
    """
    distances = torch.cdist(particles, particles, compute_mode="donot_use_mm_for_euclid_dist")
    return distances.square()


def bandwidth(squared: Tensor, median: str = "pairs") -> Tensor:
    """Return the squared bandwidth h^2 = 0.5 * median(d^2) / log(heads + 1) by the median heuristic.

    Args:
        squared: Squared distances, (systems, heads, heads).
        median: `pairs`: over the off-diagonal pairs; `with-diagonal`: over all entries, as in the released code.
            Of an even number of distances it is the mean of the two middle ones.

    Returns:
        (systems,). Zero for a system of one head, when more than half of the distances are zero, or if h^2 is too
        small a number for its inverse.
    """
    heads = squared.shape[-1]
    if heads < 2:
        return squared.new_zeros(squared.shape[0])
    rows, columns = torch.triu_indices(heads, heads, offset=1, device=squared.device)
    distances = squared.flatten(1) if median == "with-diagonal" else squared[:, rows, columns]
    ordered = distances.sort(dim=-1).values  # (systems, distances)
    count = ordered.shape[-1]
    middle = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    width = 0.5 * middle / math.log(heads + 1)
    return torch.where(width < torch.finfo(width.dtype).tiny, 0, width)


def kernel(squared: Tensor, width: Tensor) -> Tensor:
    """Return the RBF kernel exp(-d^2 / (2 h^2)).

    Args:
        squared: Squared distances, (systems, heads, heads).
        width: Squared bandwidths h^2, (systems,). Where h^2 is 0 the kernel is its limit: 1 for
            coinciding particles and 0 for others.

    Returns:
        (systems, heads, heads), 1 on the diagonal.
    """
    safe = torch.where(width > 0, 2 * width, 1)[:, None, None]
    limit = (squared == 0).to(squared.dtype)
    return torch.where((width > 0)[:, None, None], torch.exp(-squared / safe), limit)


def repulsion(particles: Tensor, weights: Tensor, width: Tensor) -> Tensor:
    """Return the sum of the kernel's gradients: for particle i, sum_j k_ij (x_i - x_j) / h^2.

    This is sum_j of the gradient of k(x_j, x_i) with respect to x_j; it points away from the others.

    Args:
        particles: (systems, heads, parameters).
        weights: The kernel, (systems, heads, heads).
        width: Squared bandwidths h^2, (systems,). Where h^2 is 0 there is no direction to move in,
            and the result is 0.

    Returns:
        (systems, heads, parameters).
    """
    centred = particles - particles.mean(dim=1, keepdim=True)  # keeps rounding relative to the spread
    inverse = torch.where(width > 0, 1 / torch.where(width > 0, width, 1), 0)[:, None, None]
    return (weights.sum(dim=-1, keepdim=True) * centred - weights @ centred) * inverse  # last: it may be huge
