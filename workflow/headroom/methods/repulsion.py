"""Repulsion between particles: Stein variational gradient descent on stacks of particle matrices.

A *system* is a set of particles that see each other: one projection (Q, K or V) of one site. A
particle is one head, i.e. its rows of the projection's weight, flattened. All functions take many
systems at once, shape (systems, heads, parameters), and loop over neither systems nor heads.

Signs: gradients are those of a loss that is minimised, so an optimizer moves *against* what is
returned here. `repulsion` points away from the other particles, hence enters with a minus.

Sources: Liu & Wang 2016 (SVGD); An et al. 2020, section 3 and their released code (scaling by
stepsize and by the number of heads). Unlike the released code the median is taken over the
off-diagonal pairs, and a particle is a contiguous block of rows, i.e. really a head.
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


def bandwidth(squared: Tensor) -> Tensor:
    """Return the squared bandwidth h^2 = 0.5 * median(d^2) / log(heads + 1) by the median heuristic.

    The median is over the off-diagonal pairs (the mean of the two middle ones if even in number).

    Args:
        squared: Squared distances, (systems, heads, heads).

    Returns:
        (systems,). Zero for a system of one head, or when at least half of the pairs coincide.
    """
    heads = squared.shape[-1]
    if heads < 2:
        return squared.new_zeros(squared.shape[0])
    rows, columns = torch.triu_indices(heads, heads, offset=1, device=squared.device)
    ordered = squared[:, rows, columns].sort(dim=-1).values  # (systems, pairs)
    pairs = ordered.shape[-1]
    median = (ordered[:, (pairs - 1) // 2] + ordered[:, pairs // 2]) / 2
    return 0.5 * median / math.log(heads + 1)


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
    weights = weights * inverse
    return weights.sum(dim=-1, keepdim=True) * centred - weights @ centred


@torch.no_grad()
def svgd_gradient(
    gradients: Tensor, particles: Tensor, *, alpha: float, stepsize: float, strength: float = 1.0
) -> Tensor:
    """Return what an optimizer is handed in place of the gradient.

    stepsize * (K G - alpha * R) / heads, with K the kernel, G the gradients and R the repulsion
    (An et al. 2020). The first term lets heads share their gradients, the second keeps them apart.

    Args:
        gradients: Gradients of the loss, (systems, heads, parameters).
        particles: The parameters themselves, same shape.
        alpha: Weight of the repulsion; 0 leaves the smoothing K G alone, in which heads collapse.
        stepsize: Factor on the whole.
        strength: Linear interpolation between `gradients` (0: returned as they are) and the update (1).

    Returns:
        (systems, heads, parameters).
    """
    if strength == 0:
        return gradients
    squared = squared_distances(particles)
    width = bandwidth(squared)
    weights = kernel(squared, width)
    repelled = repulsion(particles, weights, width)
    heads = particles.shape[1]
    update = torch.baddbmm(repelled, weights, gradients, beta=-alpha * stepsize / heads, alpha=stepsize / heads)
    return update if strength == 1 else torch.lerp(gradients, update, strength)
