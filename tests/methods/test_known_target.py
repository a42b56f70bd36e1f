"""Particles sample a target whose mean and covariance are known: a mixture of two Gaussians in the plane.

The textbook check of Liu & Wang 2016. Every system is a run of its own: other starting points, other noise.
"""

import pytest
import torch
from headroom.engines.repulsion.particles import rewritten
from headroom.settings.arms import SmoothingArm, SposArm, SvgdArm
from torch import Tensor

RUNS, PARTICLES, STEPS, RATE = 4, 60, 400, 0.02
"""The stepsize makes good the division by the number of particles. The rate is small: a heap moves M times as fast."""

WEIGHTS = torch.tensor([0.4, 0.6])
MEANS = torch.tensor([[-1.5, 0.5], [1.0, -0.5]])
COVARIANCES = torch.tensor([[[0.8, 0.3], [0.3, 0.5]], [[0.6, -0.2], [-0.2, 1.0]]])
# sum of w mu: (-0.6 + 0.6, 0.2 - 0.3)
MEAN = torch.tensor([0.0, -0.1])
# sum of w (C + mu mu'), less the mean's square:
# xx  0.4 (0.8 + 2.25) + 0.6 (0.6 + 1.0)           = 2.18
# xy  0.4 (0.3 - 0.75) + 0.6 (-0.2 - 0.5) - 0      = -0.6
# yy  0.4 (0.5 + 0.25) + 0.6 (1.0 + 0.25) - 0.01   = 1.04
COVARIANCE = torch.tensor([[2.18, -0.6], [-0.6, 1.04]])


def slope(points: Tensor) -> Tensor:
    """Return the gradient of -log p at points (..., 2), written out and not taken from autograd."""
    away = points[..., None, :] - MEANS  # (..., parts, 2)
    pulls = torch.einsum("kij,...kj->...ki", torch.linalg.inv(COVARIANCES), away)
    logs = WEIGHTS.log() - torch.logdet(COVARIANCES) / 2 - (away * pulls).sum(-1) / 2
    return (logs.softmax(-1)[..., None] * pulls).sum(-2)


def particles_after(arm, steps: int = STEPS) -> Tensor:
    """Return the particles of every run, (runs, particles, 2); they start in a heap next to the target."""
    generator = torch.Generator().manual_seed(0)
    points = 2 + 0.5 * torch.randn(RUNS, PARTICLES, 2, generator=generator)
    for _ in range(steps):
        update = rewritten(slope(points), points, arm, lambda like: torch.randn(like.shape, generator=generator))
        points = points - RATE * update
    return points


def moments(points: Tensor) -> tuple[Tensor, Tensor]:
    """Return means (runs, 2) and covariances (runs, 2, 2)."""
    return points.mean(1), torch.stack([torch.cov(run.T) for run in points])


SAMPLERS = [SvgdArm(alpha=1.0, stepsize=PARTICLES), SposArm(alpha=1.0, stepsize=PARTICLES, beta=0.001)]


@pytest.mark.parametrize("arm", SAMPLERS, ids=["svgd", "spos"])
def test_mean_and_covariance_are_recovered(arm):
    means, covariances = moments(particles_after(arm))
    torch.testing.assert_close(means, MEAN.expand(RUNS, 2), atol=0.06, rtol=0)
    torch.testing.assert_close(covariances, COVARIANCE.expand(RUNS, 2, 2), atol=0, rtol=0.15)


def test_without_repulsion_particles_collapse():
    """Except for a straggler, which a kernel of width zero does not move, they end in one point."""
    collapsed, repelled = (
        torch.stack([torch.pdist(run).median() for run in particles_after(arm)])
        for arm in (SmoothingArm(stepsize=PARTICLES), SvgdArm(alpha=1.0, stepsize=PARTICLES))
    )
    assert repelled.min() > 1
    assert (collapsed < 0.01 * repelled).all()
