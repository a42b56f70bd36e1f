"""What an optimizer is handed in place of the gradients of heads: repulsive attention, and its controls.

All functions are pure and take many systems of particles at once, shape (systems, heads, parameters); see
`headroom.methods.repulsion`. Gradients are those of a loss that is minimised, so an optimizer moves *against*
what is returned here, and the repulsion R, which points away from the other particles, enters with a minus.

With M heads, gradients G, kernel K and repulsion R:

    svgd            stepsize * (K G - alpha R) / M                                  (An et al. 2020)
    spos            svgd + stepsize * beta * G + sqrt(2 beta stepsize) * median|G| * noise
    smoothing       stepsize * K G / M                     heads share gradients, nothing keeps them apart
    repulsion-only  stepsize * (G - alpha R) / M           the other half of svgd
    scaled          s * G                                  s G is the part of svgd that is along G
    noise           s * G + |svgd - s G| * direction       what svgd adds to it, in a random direction

`spos` is Zhang et al. 2018 with temperature beta, its noise in units of the system's gradients as in the code
released with An et al., which however leaves the factor stepsize off its last two terms.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headroom.methods.repulsion import bandwidth, kernel, repulsion, squared_distances
from headroom.settings.arms import GradientArm, NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm

Noise = Callable[[Tensor], Tensor]
"""Returns standard normal numbers of a tensor's shape, type and device."""


@torch.no_grad()
def rewritten(gradients: Tensor, particles: Tensor, arm: GradientArm, noise: Noise) -> Tensor:
    """Return what the optimizer is handed.

    Args:
        gradients: Gradients of the loss, (systems, heads, parameters).
        particles: The parameters themselves, same shape.
        arm: The method and its settings; `strength` interpolates linearly between gradients and update.
        noise: Where methods with noise take it from.

    Returns:
        (systems, heads, parameters); `gradients` as they are with strength 0.
    """
    if arm.strength == 0:
        return gradients
    update = _update(gradients, particles, arm, noise)
    return update if arm.strength == 1 else torch.lerp(gradients, update, arm.strength)


def svgd(gradients: Tensor, particles: Tensor, *, alpha: float, stepsize: float, median: str = "pairs") -> Tensor:
    """Return the update of Stein variational gradient descent, (systems, heads, parameters)."""
    squared = squared_distances(particles)
    width = bandwidth(squared, median)
    weights = kernel(squared, width)
    heads = particles.shape[1]
    if alpha == 0:
        return weights @ gradients * (stepsize / heads)
    repelled = repulsion(particles, weights, width)
    return torch.baddbmm(repelled, weights, gradients, beta=-alpha * stepsize / heads, alpha=stepsize / heads)


def spos(update: Tensor, gradients: Tensor, *, beta: float, stepsize: float, noise: Noise) -> Tensor:
    """Return the update of stochastic particle optimisation sampling: that of svgd, own gradients and noise."""
    usual = gradients.abs().flatten(1).median(dim=1).values[:, None, None]  # (systems, 1, 1)
    size = (2 * beta * stepsize) ** 0.5 * usual
    return update + stepsize * beta * gradients + noise(gradients) * size


def repulsion_only(
    gradients: Tensor, particles: Tensor, *, alpha: float, stepsize: float, median: str = "pairs"
) -> Tensor:
    """Return svgd with the identity in place of the kernel on the gradient, (systems, heads, parameters)."""
    squared = squared_distances(particles)
    width = bandwidth(squared, median)
    repelled = repulsion(particles, kernel(squared, width), width)
    return (gradients - alpha * repelled) * (stepsize / particles.shape[1])


def along(update: Tensor, gradients: Tensor) -> Tensor:
    """Return the part of an update that is along the gradients of its system, (systems, heads, parameters)."""
    length = gradients.square().sum((1, 2), keepdim=True)  # (systems, 1, 1)
    product = (update * gradients).sum((1, 2), keepdim=True)
    return torch.where(length > 0, product / torch.where(length > 0, length, 1), 0) * gradients


def in_random_direction(update: Tensor, gradients: Tensor, noise: Noise) -> Tensor:
    """Return an update whose part not along the gradients points anywhere, as long as it was, same shape."""
    scaled = along(update, gradients)
    direction = noise(gradients)
    lengths = [part.square().sum((1, 2), keepdim=True).sqrt() for part in (update - scaled, direction)]
    return scaled + direction * (lengths[0] / lengths[1])


def _update(gradients: Tensor, particles: Tensor, arm: GradientArm, noise: Noise) -> Tensor:
    if isinstance(arm, SmoothingArm):
        return svgd(gradients, particles, alpha=0, stepsize=arm.stepsize, median=arm.median)
    settings: dict[str, Any] = {"alpha": arm.alpha, "stepsize": arm.stepsize, "median": arm.median}
    if isinstance(arm, RepulsionOnlyArm):
        return repulsion_only(gradients, particles, **settings)
    update = svgd(gradients, particles, **settings)
    if isinstance(arm, SposArm):
        return spos(update, gradients, beta=arm.beta, stepsize=arm.stepsize, noise=noise)
    if isinstance(arm, ScaledArm):
        return along(update, gradients)
    return in_random_direction(update, gradients, noise) if isinstance(arm, NoiseArm) else update
