"""Norms, kernels and directions of repulsion of one system of particles: numbers worked out by hand."""

import math

import pytest
import torch
from headroom.engines.repulsion.particles import bandwidth, kernel, measure_distances, repulsion
from headroom.experiments.diversity.geometry import geometry
from oracles import slow_update, slow_width


def test_two_particles():
    """Heads (3, 4) and (3, 0): d^2 = 16, h^2 = 8 / ln 3, k = 1/3; repulsion is along (0, 1) and (0, -1)."""
    assert geometry(torch.tensor([[3.0, 4.0], [3.0, 0.0]])) == pytest.approx(
        {
            "norm": math.sqrt(9 + 16 + 9),
            "kernel_mean": 1 / 3,
            "kernel_sd": 0,
            # cos((0, 1), (3, 4)) = 4/5 and cos((0, -1), (3, 0)) = 0; from the mean (3, 2) both are 1
            "repulsion_from_origin": 0.4,
            "repulsion_from_mean": 1,
        }
    )


def test_three_particles():
    """0, 1 and 3 on a line: d^2 = 1, 4, 9; h^2 = 2 / ln 4 = 1 / ln 2, k = 2^(-d^2 / 2) = a, b, c."""
    a, b, c = 2**-0.5, 2**-2.0, 2**-4.5
    mean = (a + b + c) / 3
    assert geometry(torch.tensor([[0.0], [1.0], [3.0]])) == pytest.approx(
        {
            "norm": math.sqrt(10),
            "kernel_mean": mean,
            "kernel_sd": math.sqrt(((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2) / 3),
            # R is -(a + 3 c) at 0, a - 2 b = .207 at 1, positive at 3; the head at 0 has no direction, the mean is 4/3
            "repulsion_from_origin": (0 + 1 + 1) / 3,
            "repulsion_from_mean": (1 - 1 + 1) / 3,
        }
    )


def test_orthogonal_heads_of_one_length_grow_and_keep_their_angles():
    # M = 4 unit vectors: x_i - mean has the length sqrt(1 - 1/M), and its cosine with x_i is that too
    found = geometry(5 * torch.eye(4))
    assert found["repulsion_from_mean"] == pytest.approx(1)
    assert found["repulsion_from_origin"] == pytest.approx(math.sqrt(3 / 4))
    assert found["kernel_mean"] == pytest.approx(1 / 5)  # exp(-ln(M + 1))
    assert found["kernel_sd"] == pytest.approx(0, abs=1e-12)


def test_measures_are_of_the_repulsion_that_arms_train_with():
    particles = torch.randn(5, 12, generator=torch.Generator().manual_seed(0)) + 0.4
    x = particles[None].double()
    repelled = -slow_update(torch.zeros_like(x), x, alpha=1.0, stepsize=5.0)  # 5 = heads
    found = geometry(particles)
    for measure, centre in (("repulsion_from_origin", 0.0), ("repulsion_from_mean", x.mean(dim=1, keepdim=True))):
        assert found[measure] == pytest.approx(torch.cosine_similarity(repelled, x - centre, dim=-1).mean().item())
    squared = measure_distances(x)
    width = bandwidth(squared)
    assert width.item() == pytest.approx(slow_width(x[0].numpy(), "pairs"))
    torch.testing.assert_close(repulsion(x, kernel(squared, width), width), repelled)
