"""Kernel, bandwidth and SVGD updates against hand-worked numbers and a slow reference."""

import math

import pytest
import torch
from headroom.methods.repulsion import bandwidth, kernel, repulsion, squared_distances, svgd_gradient
from slow_repulsion import slow_update
from torch import Tensor


def random_system(systems: int = 3, heads: int = 5, parameters: int = 12) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (systems, heads, parameters)
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)


class TestTwoParticles:
    """Particles 0 and 2 on a line: d^2 = 4, h^2 = 2 / ln 3, k = exp(-4 ln 3 / 4) = 1/3."""

    particles = torch.tensor([[[0.0], [2.0]]])
    gradients = torch.tensor([[[1.0], [0.0]]])

    def test_distance(self):
        assert squared_distances(self.particles).tolist() == [[[0, 4], [4, 0]]]

    def test_bandwidth(self):
        assert bandwidth(squared_distances(self.particles)).item() == pytest.approx(2 / math.log(3))

    def test_kernel(self):
        squared = squared_distances(self.particles)
        expected = torch.tensor([[[1, 1 / 3], [1 / 3, 1]]])
        torch.testing.assert_close(kernel(squared, bandwidth(squared)), expected)

    def test_repulsion_points_apart(self):
        # k * (x_i - x_j) / h^2 = 1/3 * (-2) * ln 3 / 2 = -ln 3 / 3 for the left particle
        squared = squared_distances(self.particles)
        width = bandwidth(squared)
        pushed = repulsion(self.particles, kernel(squared, width), width)
        assert pushed.flatten().tolist() == pytest.approx([-math.log(3) / 3, math.log(3) / 3])

    def test_update(self):
        # left: 0.5 * (1 + 0.3 ln 3 / 3) / 2; right: 0.5 * (1/3 - 0.3 ln 3 / 3) / 2
        update = svgd_gradient(self.gradients, self.particles, alpha=0.3, stepsize=0.5)
        push = 0.1 * math.log(3)
        assert update.flatten().tolist() == pytest.approx([0.25 * (1 + push), 0.25 * (1 / 3 - push)])


class TestThreeParticles:
    """(0, 0), (1, 0), (0, 2): d^2 = 1, 4, 5; median 4; h^2 = 2 / ln 4 = 1 / ln 2."""

    particles = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]])

    def test_kernel(self):
        # exp(-d^2 ln 2 / 2) = 2^(-d^2 / 2)
        squared = squared_distances(self.particles)
        a, b, c = 2**-0.5, 2**-2.0, 2**-2.5
        expected = torch.tensor([[[1, a, b], [a, 1, c], [b, c, 1]]])
        torch.testing.assert_close(kernel(squared, bandwidth(squared)), expected)

    def test_repulsion(self):
        # first particle: ln 2 * (2^-0.5 * (-1, 0) + 2^-2 * (0, -2))
        squared = squared_distances(self.particles)
        width = bandwidth(squared)
        pushed = repulsion(self.particles, kernel(squared, width), width)[0]
        log2 = math.log(2)
        assert pushed[0].tolist() == pytest.approx([-log2 * 2**-0.5, -log2 * 0.5])
        # second: ln 2 * (2^-0.5 * (1, 0) + 2^-2.5 * (1, -2))
        assert pushed[1].tolist() == pytest.approx([log2 * (2**-0.5 + 2**-2.5), -log2 * 2**-1.5])
        assert pushed.sum(0).tolist() == pytest.approx([0, 0], abs=1e-6)  # forces come in pairs


def test_median_leaves_out_the_diagonal_and_averages_the_middle_pair():
    # four heads on a line at 0, 1, 3, 7: d^2 = 1, 4, 9, 16, 36, 49; median (9 + 16) / 2
    particles = torch.tensor([[[0.0], [1.0], [3.0], [7.0]]])
    assert bandwidth(squared_distances(particles)).item() == pytest.approx(0.5 * 12.5 / math.log(5))


@pytest.mark.parametrize(("alpha", "stepsize"), [(0.0, 1.0), (0.01, 0.01), (1.0, 0.1), (50.0, 1.0)])
def test_equals_the_slow_loop(alpha, stepsize):
    gradients, particles = random_system()
    fast = svgd_gradient(gradients, particles, alpha=alpha, stepsize=stepsize)
    slow = slow_update(gradients, particles, alpha=alpha, stepsize=stepsize)
    torch.testing.assert_close(fast.double(), slow, rtol=1e-6, atol=1e-6 * slow.abs().max().item())


def test_close_heads_far_from_zero_keep_their_distance():
    # 1e-3 apart on an offset of 100: a Gram matrix in float32 would see only rounding
    gradients, offsets = random_system()
    particles = 100 + 1e-3 * offsets
    fast = svgd_gradient(gradients, particles, alpha=1e-4, stepsize=1.0)
    slow = slow_update(gradients, particles, alpha=1e-4, stepsize=1.0)
    torch.testing.assert_close(fast.double(), slow, rtol=1e-4, atol=1e-4 * slow.abs().max().item())


def test_permuting_heads_permutes_updates():
    gradients, particles = random_system(heads=6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    plain = svgd_gradient(gradients, particles, alpha=0.5, stepsize=0.1)
    permuted = svgd_gradient(gradients[:, order], particles[:, order], alpha=0.5, stepsize=0.1)
    torch.testing.assert_close(permuted, plain[:, order])


def test_systems_do_not_see_each_other():
    gradients, particles = random_system()
    together = svgd_gradient(gradients, particles, alpha=0.5, stepsize=0.1)
    alone = svgd_gradient(gradients[1:2], particles[1:2], alpha=0.5, stepsize=0.1)
    torch.testing.assert_close(together[1:2], alone)


@pytest.mark.parametrize("head", [0, 2, 4])
def test_a_head_touches_only_its_row_and_column(head):
    _, particles = random_system(systems=1)
    moved = particles.clone()
    moved[0, head] += 1
    width = bandwidth(squared_distances(particles))  # fixed
    before = kernel(squared_distances(particles), width)[0]
    after = kernel(squared_distances(moved), width)[0]
    changed = before != after
    expected = torch.zeros(5, 5, dtype=torch.bool)
    expected[head] = expected[:, head] = True
    expected[head, head] = False
    assert torch.equal(changed, expected)


class TestDegenerate:
    def test_identical_heads(self):
        gradients, _ = random_system()
        particles = torch.randn(3, 1, 12).expand(3, 5, 12).contiguous()
        update = svgd_gradient(gradients, particles, alpha=1.0, stepsize=1.0)
        torch.testing.assert_close(update, gradients.mean(1, keepdim=True).expand_as(gradients))

    def test_most_heads_identical(self):
        # h -> 0: equal heads share their gradient, the odd one keeps its own; no direction to repel in
        gradients, particles = random_system(systems=1)
        particles[:, 1:] = particles[:, 1:2]
        update = svgd_gradient(gradients, particles, alpha=1.0, stepsize=1.0)
        torch.testing.assert_close(update[:, 0], gradients[:, 0] / 5)
        torch.testing.assert_close(update[0, 1:], gradients[0, 1:].sum(0, keepdim=True).expand(4, -1) / 5)

    def test_identical_system_beside_a_sound_one(self):
        gradients, particles = random_system()
        particles[0] = 1.0
        update = svgd_gradient(gradients, particles, alpha=1.0, stepsize=1.0)
        assert update.isfinite().all()
        slow = slow_update(gradients[1:], particles[1:], alpha=1.0, stepsize=1.0)
        torch.testing.assert_close(update[1:].double(), slow, rtol=1e-5, atol=1e-5)

    def test_nearly_identical_heads_stay_finite(self):
        gradients, _ = random_system()
        particles = torch.ones(3, 5, 12)
        particles[:, 0, 0] += 1e-7
        assert svgd_gradient(gradients, particles, alpha=1.0, stepsize=1.0).isfinite().all()

    def test_one_head_is_a_scaled_gradient(self):
        gradients, particles = random_system(heads=1)
        update = svgd_gradient(gradients, particles, alpha=1.0, stepsize=0.5)
        torch.testing.assert_close(update, 0.5 * gradients)


class TestStrength:
    def test_zero_returns_the_gradient_itself(self):
        gradients, particles = random_system()
        assert svgd_gradient(gradients, particles, alpha=1.0, stepsize=1.0, strength=0.0) is gradients

    def test_half_is_half_way(self):
        gradients, particles = random_system()
        full = svgd_gradient(gradients, particles, alpha=0.2, stepsize=0.3)
        half = svgd_gradient(gradients, particles, alpha=0.2, stepsize=0.3, strength=0.5)
        torch.testing.assert_close(half, (gradients + full) / 2)


class TestGaussianTarget:
    """Loss x^2 / 2: the target is a standard normal in two dimensions."""

    @staticmethod
    def descend(alpha: float) -> Tensor:
        particles = torch.randn(1, 40, 2, generator=torch.Generator().manual_seed(0)) * 0.5 + 2
        for _ in range(2000):
            particles = particles - svgd_gradient(particles, particles, alpha=alpha, stepsize=0.2)
        return particles[0]

    def test_repulsion_recovers_mean_and_covariance(self):
        particles = self.descend(alpha=1.0)
        torch.testing.assert_close(particles.mean(0), torch.zeros(2), atol=0.05, rtol=0)
        torch.testing.assert_close(torch.cov(particles.T), torch.eye(2), atol=0.2, rtol=0)

    def test_without_repulsion_particles_collapse(self):
        particles = self.descend(alpha=0.0)
        assert particles.abs().max() < 0.05
