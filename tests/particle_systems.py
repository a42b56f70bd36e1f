"""Arms of every method that rewrites gradients, and random systems of particles to try them on."""

import pytest
import torch
from headroom.engines.repulsion.particles import rewritten
from headroom.settings.arms import GrowthArm, NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm, SvgdArm
from torch import Tensor

STEP = {"stepsize": 0.3}
PUSH = {**STEP, "alpha": 0.5}
EVERY = [
    *(SvgdArm(**PUSH), SposArm(**PUSH, beta=0.15), SmoothingArm(**STEP)),
    *(RepulsionOnlyArm(**PUSH), ScaledArm(**PUSH), NoiseArm(**PUSH), GrowthArm(**PUSH)),
]
every_method = pytest.mark.parametrize("arm", EVERY, ids=[arm.method for arm in EVERY])


def random_system(systems=3, heads=5, parameters=12):
    """Return gradients, particles, and numbers to use as noise."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(systems, heads, parameters, generator=generator) for _ in range(3)]


def updated(arm, gradients, particles, noise=None):
    def given(like: Tensor) -> Tensor:
        assert noise is not None, "this method has no noise"
        assert noise.shape == like.shape
        return noise.to(like)

    return rewritten(gradients, particles, arm, given)
