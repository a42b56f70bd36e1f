"""Kernels, repulsion and updates of every method: hand-worked numbers, a slow reference, autograd, symmetries."""

import math

import pytest
import torch
from headroom.core.heads import Site
from headroom.engines.repulsion.particles import (
    GradientRewriter,
    bandwidth,
    growth,
    kernel,
    match_alpha,
    measure_distances,
    repulsion,
    rewritten,
)
from headroom.engines.repulsion.similarity import mean_kernel
from headroom.settings.arms import GrowthArm, NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm, SvgdArm
from oracles import EVERY, PUSH, every_method, random_system, slow_update, updated
from torch import Tensor, nn


class TestTwoParticles:
    """Particles 0 and 2 on a line, stepsize 0.5, alpha 0.3: k = 1/3, R = (-1, 1) ln 3 / 3; see `TestKernelOfTwo`.

    With gradients (4, -2) K G = (4 - 2/3, 4/3 - 2) = (10/3, -2/3). stepsize / M = 1/4.
    """

    particles = torch.tensor([[[0.0], [2.0]]])
    gradients = torch.tensor([[[4.0], [-2.0]]])
    push = 0.1 * math.log(3)  # alpha ln 3 / 3

    def found(self, model, *, noise=None, **settings):
        given = {"stepsize": 0.5, "median": "pairs", **({} if model is SmoothingArm else {"alpha": 0.3}), **settings}
        drawn = None if noise is None else torch.tensor(noise).view(1, 2, 1)
        return updated(model(**given), self.gradients, self.particles, drawn).flatten().tolist()

    def test_svgd(self):
        expected = [(10 / 3 + self.push) / 4, (-2 / 3 - self.push) / 4]
        assert self.found(SvgdArm) == pytest.approx(expected)

    def test_spos(self):
        # beta 0.04: own gradient times 0.02; noise times sqrt(2 * 0.04 * 0.5) * 2 = 0.4, the median of (4, 2) being 2
        expected = [(10 / 3 + self.push) / 4 + 0.08 + 0.4, (-2 / 3 - self.push) / 4 - 0.04 - 0.8]
        assert self.found(SposArm, beta=0.04, noise=[1.0, -2.0]) == pytest.approx(expected)

    def test_smoothing(self):
        assert self.found(SmoothingArm) == pytest.approx([10 / 12, -2 / 12])

    def test_repulsion_only(self):
        assert self.found(RepulsionOnlyArm) == pytest.approx([(4 + self.push) / 4, (-2 - self.push) / 4])

    def test_growth(self):
        # the head at 0 has no direction to grow in
        assert self.found(GrowthArm) == pytest.approx([(10 / 3) / 4, (-2 / 3 - self.push) / 4])

    def factor(self):
        # <svgd, G> / <G, G> = (4 (10/3 + push) + 2 (2/3 + push)) / 4 / 20
        return (44 / 3 + 6 * self.push) / 80

    def test_scaled(self):
        assert self.found(ScaledArm) == pytest.approx([4 * self.factor(), -2 * self.factor()])

    def test_noise(self):
        # what is left of svgd is along (1, 2) / sqrt 5: |(10/3 + push) - 2 (2/3 + push)| / 4 / sqrt 5
        rest = (2 - self.push) / 4 / math.sqrt(5)
        expected = [4 * self.factor() + rest * 0.6, -2 * self.factor() + rest * 0.8]
        assert self.found(NoiseArm, noise=[3.0, 4.0]) == pytest.approx(expected)


class TestRatio:
    def test_of_two(self):
        # |alpha R| / |K G| of `TestTwoParticles`, and with G instead of K G
        two, push = TestTwoParticles(), TestTwoParticles.push
        expected = {SvgdArm: math.hypot(10 / 3, 2 / 3), RepulsionOnlyArm: math.hypot(4, 2)}
        for model, driving in expected.items():
            arm, ratios = model(alpha=0.3, median="pairs"), []
            rewritten(two.gradients, two.particles, arm, torch.randn_like, ratios)
            assert ratios[0].tolist() == pytest.approx([math.sqrt(2) * push / driving])

    @pytest.mark.parametrize("model", [SposArm, ScaledArm, NoiseArm, GrowthArm])
    def test_is_that_of_svgd_in_its_controls(self, model):
        gradients, particles, _ = random_system()
        found = {arm: [] for arm in (SvgdArm, model)}
        for arm, ratios in found.items():
            rewritten(gradients, particles, arm(**PUSH), torch.randn_like, ratios)
        (own,), (svgds,) = found[model], found[SvgdArm]
        torch.testing.assert_close(own, svgds)
        assert own.shape == (3,)


class TestMatchedAlpha:
    """Weights as fairseq initialises them, and gradients whose norm grows with the root of the width."""

    def ratio(self, heads, width):
        generator = torch.Generator().manual_seed(heads)
        weights = [nn.Parameter(torch.randn(width, width, generator=generator) / (2 * width) ** 0.5) for _ in range(3)]
        for weight in weights:
            weight.grad = torch.randn(width, width, generator=generator) / width**0.5
        return GradientRewriter({Site("E", 1, heads): weights}, SvgdArm(), seed=1).rewrite(0).item()

    def test_is_the_papers_at_the_papers_shape(self):
        assert match_alpha(4, 512) == pytest.approx(0.01)

    @pytest.mark.parametrize(("heads", "width"), [(3, 96), (8, 64), (4, 128), (8, 128), (16, 256)])
    def test_makes_repulsion_as_strong_as_there(self, heads, width):
        assert self.ratio(heads, width) == pytest.approx(self.ratio(4, 512), rel=0.1)


class TestSlowReference:
    @every_method
    @pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
    @pytest.mark.parametrize("heads", [2, 4, 7])
    @pytest.mark.parametrize(("number", "digits"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
    def test_equals_the_loop(self, arm, median, heads, number, digits):
        gradients, particles, noise = (part.to(number) for part in random_system(heads=heads))
        arm = arm.model_copy(update={"median": median})
        fast = updated(arm, gradients, particles, noise)
        settings = arm.model_dump(exclude={"sites", "particles", "heads", "attention_dropout"})
        slow = slow_update(gradients, particles, noise=noise, **settings)
        assert fast.dtype == number
        torch.testing.assert_close(fast.double(), slow, rtol=digits, atol=digits * slow.abs().max().item())


class TestControls:
    def test_scaled_is_parallel_to_the_gradients_and_nearest_to_svgd(self):
        gradients, particles, _ = random_system()
        wanted, found = (updated(model(**PUSH), gradients, particles) for model in (SvgdArm, ScaledArm))
        factors = found / gradients
        torch.testing.assert_close(factors, factors[:, :1, :1].expand_as(factors))
        assert factors[:, 0, 0].unique().numel() == 3  # one per system
        for nudge in (0.98, 1.02):
            assert ((wanted - nudge * found).square().sum((1, 2)) > (wanted - found).square().sum((1, 2))).all()

    def test_noise_keeps_the_lengths_of_both_parts(self):
        gradients, particles, drawn = random_system()
        wanted, found = (updated(model(**PUSH), gradients, particles, drawn) for model in (SvgdArm, NoiseArm))
        scaled = updated(ScaledArm(**PUSH), gradients, particles)
        rest = found - scaled
        torch.testing.assert_close(rest.flatten(1).norm(dim=1), (wanted - scaled).flatten(1).norm(dim=1))
        cosines = torch.cosine_similarity(rest.flatten(1), drawn.flatten(1))
        torch.testing.assert_close(cosines, torch.ones(3))

    def test_growth_pushes_as_far_as_repulsion_and_along_the_weights(self):
        _, particles, _ = random_system()
        nothing = torch.zeros_like(particles)
        repelled, grown = (updated(model(**PUSH), nothing, particles) for model in (SvgdArm, GrowthArm))
        torch.testing.assert_close(grown.norm(dim=-1), repelled.norm(dim=-1))  # of every head
        # the optimizer goes against the update: the weights grow
        torch.testing.assert_close(torch.cosine_similarity(grown, particles, dim=-1), -torch.ones(3, 5))
        assert (torch.cosine_similarity(repelled, particles, dim=-1) > -0.95).all()

    @every_method
    def test_gradients_of_zero(self, arm):
        """Only repulsion is left: of the control `scaled` nothing, of `noise` and `growth` its length."""
        _, particles, drawn = random_system()
        nothing = torch.zeros_like(particles)
        found = updated(arm, nothing, particles, drawn)
        repelled = updated(SvgdArm(**PUSH), nothing, particles)
        expected = {"scaled": nothing, "smoothing": nothing}.get(arm.method, repelled)
        if arm.method == "growth":
            torch.testing.assert_close(found.norm(dim=-1), repelled.norm(dim=-1))
        elif arm.method == "noise":
            assert found.flatten(1).norm(dim=1).tolist() == pytest.approx(repelled.flatten(1).norm(dim=1).tolist())
            assert found.flatten(1).norm(dim=1).min() > 0
        else:
            torch.testing.assert_close(found, expected)


def test_a_repulsion_loss_on_parameters_is_repulsion_only():
    """Its gradient is stepsize / M times that of loss + alpha / 2 * sum_ij k_ij; k_ii = 1 does not matter."""
    _, particles, _ = random_system()
    weights = particles.double().requires_grad_()
    loss = weights.sin().sum() + weights.prod(dim=-1).sum()
    (plain,) = torch.autograd.grad(loss, weights, retain_graph=True)
    pairs = 5 * 4
    (whole,) = torch.autograd.grad(loss + 0.5 / 2 * pairs * mean_kernel(weights).sum(), weights)
    found = updated(RepulsionOnlyArm(**PUSH, median="pairs"), plain, weights)
    assert not found.requires_grad
    torch.testing.assert_close(found, 0.3 / 5 * whole, rtol=1e-9, atol=1e-12)


LOG2, LOG3 = math.log(2), math.log(3)


def random_particles(systems: int = 3, heads: int = 5, parameters: int = 12) -> Tensor:
    return torch.randn(systems, heads, parameters, generator=torch.Generator().manual_seed(0))


def pushed(particles: Tensor, median: str = "pairs") -> Tensor:
    squared = measure_distances(particles)
    width = bandwidth(squared, median)
    return repulsion(particles, kernel(squared, width), width)


class TestKernelOfTwo:
    """Particles 0 and 2 on a line: d^2 = 4; all entries of the distance matrix: 0, 0, 4, 4."""

    particles = torch.tensor([[[0.0], [2.0]]])

    def test_distance(self):
        assert measure_distances(self.particles).tolist() == [[[0, 4], [4, 0]]]

    def test_bandwidth(self):
        # h^2 = 0.5 * 4 / ln 3, with the diagonal 0.5 * (0 + 4) / 2 / ln 3
        squared = measure_distances(self.particles)
        assert bandwidth(squared).item() == pytest.approx(2 / LOG3)
        assert bandwidth(squared, "with-diagonal").item() == pytest.approx(1 / LOG3)

    # exp(-4 / (2 * 2 / ln 3)) = exp(-ln 3) = 1/3; exp(-4 / (2 / ln 3)) = exp(-2 ln 3) = 1/9
    @pytest.mark.parametrize(("median", "between"), [("pairs", 1 / 3), ("with-diagonal", 1 / 9)])
    def test_kernel(self, median, between):
        squared = measure_distances(self.particles)
        expected = torch.tensor([[[1, between], [between, 1]]])
        torch.testing.assert_close(kernel(squared, bandwidth(squared, median)), expected)

    # k * 2 / h^2 on the right: 1/3 * 2 * ln 3 / 2 = ln 3 / 3; 1/9 * 2 * ln 3
    @pytest.mark.parametrize(("median", "push"), [("pairs", LOG3 / 3), ("with-diagonal", 2 * LOG3 / 9)])
    def test_repulsion_points_apart(self, median, push):
        assert pushed(self.particles, median).flatten().tolist() == pytest.approx([-push, push])


class TestKernelOfThree:
    """(0, 0), (1, 0), (0, 2): d^2 = 1, 4, 5; all entries: 0, 0, 0, 1, 1, 4, 4, 5, 5."""

    particles = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]])

    # pairs: median 4, h^2 = 2 / ln 4 = 1 / ln 2, k = exp(-d^2 ln 2 / 2) = 2^(-d^2 / 2)
    # with the diagonal: median 1, h^2 = 0.5 / ln 4 = 1 / (4 ln 2), k = exp(-2 d^2 ln 2) = 2^(-2 d^2)
    @pytest.mark.parametrize(("median", "power"), [("pairs", -0.5), ("with-diagonal", -2.0)])
    def test_kernel(self, median, power):
        squared = measure_distances(self.particles)
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
    squared = measure_distances(torch.tensor([[[0.0], [1.0], [3.0], [7.0]]]))
    assert bandwidth(squared).item() == pytest.approx(0.5 * 12.5 / math.log(5))
    assert bandwidth(squared, "with-diagonal").item() == pytest.approx(0.5 * 6.5 / math.log(5))


def test_close_heads_far_from_zero_keep_their_distance():
    # 1e-3 apart on an offset of 100: a Gram matrix in float32 would see only rounding
    particles = 100 + 1e-3 * random_particles()
    slow = -slow_update(torch.zeros(3, 5, 12), particles, alpha=1.0, stepsize=5.0)  # 5 = heads
    torch.testing.assert_close(pushed(particles).double(), slow, rtol=1e-4, atol=1e-4 * slow.abs().max().item())


class TestLoss:
    """Repulsion is what goes down the slope of the loss 1/2 sum_ij k(x_i, x_j), its width held fixed."""

    @pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
    def test_gradient_of_the_kernel_is_minus_the_repulsion(self, median):
        particles = random_particles().double().requires_grad_()
        squared = measure_distances(particles)
        width = bandwidth(squared.detach(), median)
        (gradient,) = torch.autograd.grad(0.5 * kernel(squared, width).sum(), particles)
        with torch.no_grad():
            torch.testing.assert_close(gradient, -pushed(particles, median), rtol=1e-9, atol=1e-12)


class TestCoincidingParticles:
    @pytest.mark.parametrize("median", ["pairs", "with-diagonal"])
    def test_all_in_one_place(self, median):
        squared = measure_distances(random_particles(heads=1).expand(3, 5, 12).contiguous())
        width = bandwidth(squared, median)
        assert width.tolist() == [0, 0, 0]
        assert torch.equal(kernel(squared, width), torch.ones(3, 5, 5))
        assert not pushed(torch.ones(3, 5, 12), median).any()

    def test_exactly_half_of_the_distances_zero_leave_a_width(self):
        # 0, 0, 0 and 2 on a line: d^2 = 0, 0, 0, 4, 4, 4; median 2, h^2 = 1 / ln 5, k = exp(-2 ln 5) = 1/25
        particles = torch.tensor([[[0.0], [0.0], [0.0], [2.0]]])
        squared = measure_distances(particles)
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
        squared = measure_distances(particles)
        width = bandwidth(squared)
        assert growth(particles, kernel(squared, width), width).isfinite().all()


class TestCoincidingHeads:
    """They coincide: all K are 1 and the direction of repulsion is undefined. stepsize / M = 0.06."""

    expected = (
        ("svgd", lambda g: 0.06 * g.sum(1, keepdim=True).expand_as(g)),
        ("smoothing", lambda g: 0.06 * g.sum(1, keepdim=True).expand_as(g)),
        ("repulsion-only", lambda g: 0.06 * g),
        ("growth", lambda g: 0.06 * g.sum(1, keepdim=True).expand_as(g)),
    )

    @pytest.mark.parametrize(("method", "wanted"), expected, ids=[method for method, _ in expected])
    def test_all_of_them(self, method, wanted):
        gradients, _, noise = random_system()
        arm = next(arm for arm in EVERY if arm.method == method)
        torch.testing.assert_close(updated(arm, gradients, torch.ones(3, 5, 12), noise), wanted(gradients))

    @every_method
    def test_finite(self, arm):
        gradients, particles, noise = random_system()
        particles[0], particles[1, 1:] = 1.0, 2.0
        particles[2] = 1e-7 * particles[2]
        assert updated(arm, gradients, particles, noise).isfinite().all()


class TestStrength:
    @every_method
    def test_zero_returns_the_gradients_themselves(self, arm):
        gradients, particles, _ = random_system()
        before = gradients.clone()
        assert updated(arm.model_copy(update={"strength": 0.0}), gradients, particles) is gradients
        assert torch.equal(gradients, before)

    @every_method
    def test_half_is_the_mean_and_a_quarter_nearer_to_the_gradients(self, arm):
        parts = random_system()
        half, quarter = (updated(arm.model_copy(update={"strength": share}), *parts) for share in (0.5, 0.25))
        whole = updated(arm, *parts)
        torch.testing.assert_close(half, (parts[0] + whole) / 2)
        torch.testing.assert_close(quarter, (3 * parts[0] + whole) / 4)
