"""What the optimizer is handed, of every method: hand-worked numbers, a slow reference, and a loss."""

import math

import pytest
import torch
from headroom.methods.particles import along, svgd
from headroom.methods.similarity import mean_kernel
from headroom.settings.arms import NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm, SvgdArm
from particle_systems import PUSH, STEP, every_method, random_system, updated
from slow_repulsion import slow_update


class TestTwoParticles:
    """Particles 0 and 2 on a line, stepsize 0.5, alpha 0.3: k = 1/3, R = (-1, 1) ln 3 / 3; see test_repulsion.

    With gradients (4, -2) K G = (4 - 2/3, 4/3 - 2) = (10/3, -2/3). stepsize / M = 1/4.
    """

    particles = torch.tensor([[[0.0], [2.0]]])
    gradients = torch.tensor([[[4.0], [-2.0]]])
    push = 0.1 * math.log(3)  # alpha ln 3 / 3

    def found(self, model, *, noise=None, **settings):
        given = {"stepsize": 0.5, **({} if model is SmoothingArm else {"alpha": 0.3}), **settings}
        drawn = None if noise is None else torch.tensor(noise).view(1, 2, 1)
        return updated(model(**given), self.gradients, self.particles, drawn).flatten().tolist()

    def test_svgd(self):
        expected = [(10 / 3 + self.push) / 4, (-2 / 3 - self.push) / 4]
        assert self.found(SvgdArm) == pytest.approx(expected)

    def test_svgd_with_the_diagonal_in_the_median(self):
        # k = 1/9, R = (-1, 1) 2 ln 3 / 9: K G = (4 - 2/9, 4/9 - 2), alpha R = (-1, 1) ln 3 / 15
        push = math.log(3) / 15
        expected = [(34 / 9 + push) / 4, (-14 / 9 - push) / 4]
        assert self.found(SvgdArm, median="with-diagonal") == pytest.approx(expected)

    def test_spos(self):
        # beta 0.04: own gradient times 0.02; noise times sqrt(2 * 0.04 * 0.5) * 2 = 0.4, the median of (4, 2) being 2
        expected = [(10 / 3 + self.push) / 4 + 0.08 + 0.4, (-2 / 3 - self.push) / 4 - 0.04 - 0.8]
        assert self.found(SposArm, beta=0.04, noise=[1.0, -2.0]) == pytest.approx(expected)

    def test_smoothing(self):
        assert self.found(SmoothingArm) == pytest.approx([10 / 12, -2 / 12])

    def test_repulsion_only(self):
        assert self.found(RepulsionOnlyArm) == pytest.approx([(4 + self.push) / 4, (-2 - self.push) / 4])

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


class TestThreeParticles:
    """(0, 0), (1, 0), (0, 2), stepsize 0.3, alpha 0.5: 1 / h^2 = ln 2 and k = a, b, c; see test_repulsion."""

    particles = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]])
    gradients = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]]])
    noise = torch.tensor([[[1.0, 0.0], [0.0, -1.0], [2.0, 1.0]]])
    a, b, c = 2**-0.5, 2**-2.0, 2**-2.5
    # K G: first g1 + a g2 + b g3, second a g1 + g2 + c g3, third b g1 + c g2 + g3
    shared = torch.tensor([[[1 + 2 * b, a - b], [a + 2 * c, 1 - c], [b + 2, c - 1]]])
    # alpha R
    push = 0.5 * math.log(2) * torch.tensor([[[-a, -2 * b], [a + c, -2 * c], [-c, 2 * b + 2 * c]]])
    svgd = 0.1 * (shared - push)
    # <K G, G> = (1 + 2b) + (1 - c) + 2 (b + 2) - (c - 1); <R, G> = (-a - 2c - 2c - (2b + 2c)) ln 2; <G, G> = 7
    factor = 0.1 * (7 + 4 * b - 2 * c + 0.5 * math.log(2) * (a + 2 * b + 6 * c)) / 7

    def check(self, arm, expected, noise=None):
        torch.testing.assert_close(updated(arm, self.gradients, self.particles, noise), expected)

    def test_svgd(self):
        self.check(SvgdArm(**PUSH), self.svgd)

    def test_svgd_with_the_diagonal_in_the_median(self):
        # 1 / h^2 = 4 ln 2, k = 2^(-2 d^2)
        a, b, c = 2**-2.0, 2**-8.0, 2**-10.0
        shared = torch.tensor([[[1 + 2 * b, a - b], [a + 2 * c, 1 - c], [b + 2, c - 1]]])
        push = 0.5 * 4 * math.log(2) * torch.tensor([[[-a, -2 * b], [a + c, -2 * c], [-c, 2 * b + 2 * c]]])
        self.check(SvgdArm(**PUSH, median="with-diagonal"), 0.1 * (shared - push))

    def test_spos(self):
        # beta 0.15: own gradient times 0.045; noise times sqrt(0.09) * 1: of 0, 0, 1, 1, 1, 2 the median is 1
        self.check(SposArm(**PUSH, beta=0.15), self.svgd + 0.045 * self.gradients + 0.3 * self.noise, self.noise)

    def test_smoothing(self):
        self.check(SmoothingArm(**STEP), 0.1 * self.shared)

    def test_repulsion_only(self):
        self.check(RepulsionOnlyArm(**PUSH), 0.1 * (self.gradients - self.push))

    def test_scaled(self):
        self.check(ScaledArm(**PUSH), self.factor * self.gradients)

    def test_noise(self):
        # by Pythagoras what is left has the square |svgd|^2 - factor^2 |G|^2; the noise has the length sqrt 7
        rest = math.sqrt(self.svgd.square().sum().item() - 7 * self.factor**2)
        expected = self.factor * self.gradients + rest / math.sqrt(7) * self.noise
        self.check(NoiseArm(**PUSH), expected, self.noise)


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

    @pytest.mark.parametrize(("alpha", "stepsize"), [(0.0, 1.0), (0.01, 0.01), (1.0, 0.1), (50.0, 1.0)])
    def test_svgd_of_any_weight(self, alpha, stepsize):
        gradients, particles, _ = random_system()
        fast = svgd(gradients, particles, alpha=alpha, stepsize=stepsize)
        slow = slow_update(gradients, particles, alpha=alpha, stepsize=stepsize)
        torch.testing.assert_close(fast.double(), slow, rtol=1e-6, atol=1e-6 * slow.abs().max().item())


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

    def test_the_part_along_the_gradients_leaves_a_rest_at_right_angles(self):
        gradients, update, _ = random_system()
        part = along(update, gradients)
        assert ((update - part) * gradients).sum((1, 2)).tolist() == pytest.approx([0, 0, 0], abs=1e-4)
        torch.testing.assert_close(along(part, gradients), part)

    @every_method
    def test_gradients_of_zero(self, arm):
        """Only repulsion is left: of the control `scaled` nothing, of `noise` the length of the repulsion."""
        _, particles, drawn = random_system()
        nothing = torch.zeros_like(particles)
        found = updated(arm, nothing, particles, drawn)
        repelled = updated(SvgdArm(**PUSH), nothing, particles)
        expected = {"scaled": nothing, "smoothing": nothing}.get(arm.method, repelled)
        if arm.method == "noise":
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
    found = updated(RepulsionOnlyArm(**PUSH), plain, weights)
    assert not found.requires_grad
    torch.testing.assert_close(found, 0.3 / 5 * whole, rtol=1e-9, atol=1e-12)
