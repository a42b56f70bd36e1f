"""Distances, bandwidth, kernel and repulsion against hand-worked numbers, a slow reference and autograd."""

import math

import pytest
import torch
from headroom.methods.particles import bandwidth, kernel, repulsion, squared_distances
from slow_repulsion import slow_update, slow_width
from torch import Tensor

LOG2, LOG3 = math.log(2), math.log(3)


def random_particles(systems: int = 3, heads: int = 5, parameters: int = 12) -> Tensor:
    return torch.randn(systems, heads, parameters, generator=torch.Generator().manual_seed(0))


def pushed(particles: Tensor, median: str = "pairs") -> Tensor:
    squared = squared_distances(particles)
    width = bandwidth(squared, median)
    return repulsion(particles, kernel(squared, width), width)


class TestTwoParticles:
    """Particles 0 and 2 on a line: d^2 = 4; all entries of the distance matrix: 0, 0, 4, 4."""

    particles = torch.tensor([[[0.0], [2.0]]])

    def test_distance(self):
        assert squared_distances(self.particles).tolist() == [[[0, 4], [4, 0]]]

    def test_bandwidth(self):
        # h^2 = 0.5 * 4 / ln 3, with the diagonal 0.5 * (0 + 4) / 2 / ln 3
        squared = squared_distances(self.particles)
        assert bandwidth(squared).item() == pytest.approx(2 / LOG3)
        assert bandwidth(squared, "with-diagonal").item() == pytest.approx(1 / LOG3)

    # exp(-4 / (2 * 2 / ln 3)) = exp(-ln 3) = 1/3; exp(-4 / (2 / ln 3)) = exp(-2 ln 3) = 1/9
    @pytest.mark.parametrize(("median", "between"), [("pairs", 1 / 3), ("with-diagonal", 1 / 9)])
    def test_kernel(self, median, between):
        squared = squared_distances(self.particles)
        expected = torch.tensor([[[1, between], [between, 1]]])
        torch.testing.assert_close(kernel(squared, bandwidth(squared, median)), expected)

    # k * 2 / h^2 on the right: 1/3 * 2 * ln 3 / 2 = ln 3 / 3; 1/9 * 2 * ln 3
    @pytest.mark.parametrize(("median", "push"), [("pairs", LOG3 / 3), ("with-diagonal", 2 * LOG3 / 9)])
    def test_repulsion_points_apart(self, median, push):
        assert pushed(self.particles, median).flatten().tolist() == pytest.approx([-push, push])


class TestThreeParticles:
    """(0, 0), (1, 0), (0, 2): d^2 = 1, 4, 5; all entries: 0, 0, 0, 1, 1, 4, 4, 5, 5."""

    particles = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]])

    # pairs: median 4, h^2 = 2 / ln 4 = 1 / ln 2, k = exp(-d^2 ln 2 / 2) = 2^(-d^2 / 2)
    # with the diagonal: median 1, h^2 = 0.5 / ln 4 = 1 / (4 ln 2), k = exp(-2 d^2 ln 2) = 2^(-2 d^2)
    @pytest.mark.parametrize(("median", "power"), [("pairs", -0.5), ("with-diagonal", -2.0)])
    def test_kernel(self, median, power):
        squared = squared_distances(self.particles)
        a, b, c = (2 ** (power * distance) for distance in (1, 4, 5))
        expected = torch.tensor([[[1, a, b], [a, 1, c], [b, c, 1]]])
        torch.testing.assert_close(kernel(squared, bandwidth(squared, median)), expected)

    @pytest.mark.parametrize(("median", "power", "inverse"), [("pairs", -0.5, 1), ("with-diagonal", -2.0, 4)])
    def test_repulsion(self, median, power, inverse):
        # sum_j k_ij (x_i - x_j) / h^2 with 1 / h^2 = inverse * ln 2:
        # first  a (-1, 0) + b (0, -2)   second  a (1, 0) + c (1, -2)   third  b (0, 2) + c (-1, 2)
        a, b, c = (2 ** (power * distance) for distance in (1, 4, 5))
        expected = inverse * LOG2 * torch.tensor([[[-a, -2 * b], [a + c, -2 * c], [-c, 2 * b + 2 * c]]])
        torch.testing.assert_close(pushed(self.particles, median), expected)


def test_median_of_an_even_number_is_the_mean_of_the_middle_two():
    # four heads on a line at 0, 1, 3, 7: d^2 = 1, 4, 9, 16, 36, 49; median (9 + 16) / 2
    # with the diagonal 0, 0, 0, 0, 1, 1, 4, 4, 9, 9, 16, ...: the eighth and ninth of 16 are 4 and 9
    squared = squared_distances(torch.tensor([[[0.0], [1.0], [3.0], [7.0]]]))
    assert bandwidth(squared).item() == pytest.approx(0.5 * 12.5 / math.log(5))
    assert bandwidth(squared, "with-diagonal").item() == pytest.approx(0.5 * 6.5 / math.log(5))


@pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
@pytest.mark.parametrize("heads", [2, 3, 4, 7, 8])
def test_widths_of_many_systems_equal_the_loop(median, heads):
    particles = random_particles(systems=4, heads=heads) * torch.tensor([0.01, 1, 3, 500])[:, None, None]
    expected = [slow_width(system.double().numpy(), median) for system in particles]
    assert bandwidth(squared_distances(particles), median).tolist() == pytest.approx(expected, rel=1e-6)


def test_close_heads_far_from_zero_keep_their_distance():
    # 1e-3 apart on an offset of 100: a Gram matrix in float32 would see only rounding
    particles = 100 + 1e-3 * random_particles()
    slow = -slow_update(torch.zeros(3, 5, 12), particles, alpha=1.0, stepsize=5.0)  # 5 = heads
    torch.testing.assert_close(pushed(particles).double(), slow, rtol=1e-4, atol=1e-4 * slow.abs().max().item())


@pytest.mark.parametrize("head", [0, 2, 4])
def test_a_head_touches_only_its_row_and_column(head):
    particles = random_particles(systems=1)
    moved = particles.clone()
    moved[0, head] += 1
    width = bandwidth(squared_distances(particles))  # fixed
    before = kernel(squared_distances(particles), width)[0]
    after = kernel(squared_distances(moved), width)[0]
    expected = torch.zeros(5, 5, dtype=torch.bool)
    expected[head] = expected[:, head] = True
    expected[head, head] = False
    assert torch.equal(before != after, expected)


class TestLoss:
    """Repulsion is what goes down the slope of the loss 1/2 sum_ij k(x_i, x_j), its width held fixed."""

    @pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
    def test_gradient_of_the_kernel_is_minus_the_repulsion(self, median):
        particles = random_particles().double().requires_grad_()
        squared = squared_distances(particles)
        width = bandwidth(squared.detach(), median)
        (gradient,) = torch.autograd.grad(0.5 * kernel(squared, width).sum(), particles)
        with torch.no_grad():
            torch.testing.assert_close(gradient, -pushed(particles, median), rtol=1e-9, atol=1e-12)

    def test_moving_with_the_repulsion_lowers_it(self):
        particles = random_particles().double()
        width = bandwidth(squared_distances(particles))
        before, after = (
            kernel(squared_distances(particles + step * pushed(particles)), width).sum((1, 2)) for step in (0, 1e-3)
        )
        assert (after < before).all()


class TestCoincidingParticles:
    @pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
    def test_all_in_one_place(self, median):
        squared = squared_distances(random_particles(heads=1).expand(3, 5, 12).contiguous())
        width = bandwidth(squared, median)
        assert width.tolist() == [0, 0, 0]
        assert torch.equal(kernel(squared, width), torch.ones(3, 5, 5))
        assert not pushed(torch.ones(3, 5, 12), median).any()

    def test_the_limit_of_a_width_of_zero_is_whether_particles_coincide(self):
        # heads 2 to 5 in one place: 6 of 10 distances are 0
        particles = random_particles(systems=1)
        particles[:, 1:] = particles[:, 1:2]
        squared = squared_distances(particles)
        expected = torch.block_diag(torch.ones(1, 1), torch.ones(4, 4))
        assert torch.equal(kernel(squared, bandwidth(squared))[0], expected)
        assert not pushed(particles).any()

    def test_exactly_half_of_the_distances_zero_leave_a_width(self):
        # 0, 0, 0 and 2 on a line: d^2 = 0, 0, 0, 4, 4, 4; median 2, h^2 = 1 / ln 5, k = exp(-2 ln 5) = 1/25
        particles = torch.tensor([[[0.0], [0.0], [0.0], [2.0]]])
        squared = squared_distances(particles)
        width = bandwidth(squared)
        assert width.item() == pytest.approx(1 / math.log(5))
        assert kernel(squared, width)[0, 3].tolist() == pytest.approx([1 / 25, 1 / 25, 1 / 25, 1])
        # the odd one: 3 * 1/25 * 2 * ln 5; each other: -1/25 * 2 * ln 5
        push = 2 * math.log(5) / 25
        assert pushed(particles).flatten().tolist() == pytest.approx([-push, -push, -push, 3 * push], rel=1e-5)

    @pytest.mark.parametrize("apart", [1e-7, 1e-15, 1e-20, 1e-25])
    def test_nearly_in_one_place_stays_finite(self, apart):
        # of two sizes: at 1e-20 the width of the first system is below the smallest normal number
        particles = apart * random_particles() * torch.tensor([1, 3, 10])[:, None, None]
        assert pushed(particles).isfinite().all()
