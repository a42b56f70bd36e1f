"""Updates of every method against a slow loop and by hand, the gradients of a model's sites, a known target."""

import math

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.experiments.diversity.geometry import geometry
from headroom.settings.arms import GrowthArm, NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm, SvgdArm
from headroom.training.repulsion.particles import (
    GradientRewriter,
    bandwidth,
    growth,
    kernel,
    match_alpha,
    measure_distances,
    repulsion,
    rewritten,
)
from headroom.training.repulsion.similarity import mean_kernel
from oracles import slow_update, slow_width
from torch import Tensor, nn

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


MEDIANS = ("pairs", "with-diagonal")


def given_to_the_loop(arm):
    return arm.model_dump(include={"method", "alpha", "beta", "stepsize", "median", "strength"})


class TestTwoParticles:
    """Particles 0 and 2 on a line, stepsize 0.5, alpha 0.3.

    d^2 = 4, h^2 = 2 / ln 3, k = exp(-ln 3) = 1/3, R = k (-2, 2) / h^2 = (-1, 1) ln 3 / 3. With gradients (4, -2)
    K G = (4 - 2/3, 4/3 - 2) = (10/3, -2/3). stepsize / M = 1/4.
    """

    particles = torch.tensor([[[0.0], [2.0]]])
    gradients = torch.tensor([[[4.0], [-2.0]]])
    push = 0.1 * math.log(3)  # alpha ln 3 / 3
    # of scaled <svgd, G> / <G, G> = (4 (10/3 + push) + 2 (2/3 + push)) / 4 / 20
    factor = (44 / 3 + 6 * push) / 80
    # of noise what is left of svgd, along (1, 2) / sqrt 5: |(10/3 + push) - 2 (2/3 + push)| / 4 / sqrt 5
    rest = (2 - push) / 4 / math.sqrt(5)

    # of spos beta 0.04: own gradient times 0.02; noise times sqrt(2 * 0.04 * 0.5) * 2 = 0.4, where 2 is the median
    # of growth: the head at 0 has no direction to grow in
    EXPECTED = (
        (SvgdArm, {}, None, ((10 / 3 + push) / 4, (-2 / 3 - push) / 4)),
        (SposArm, {"beta": 0.04}, (1, -2), ((10 / 3 + push) / 4 + 0.08 + 0.4, (-2 / 3 - push) / 4 - 0.04 - 0.8)),
        (SmoothingArm, {}, None, (10 / 12, -2 / 12)),
        (RepulsionOnlyArm, {}, None, ((4 + push) / 4, (-2 - push) / 4)),
        (GrowthArm, {}, None, ((10 / 3) / 4, (-2 / 3 - push) / 4)),
        (ScaledArm, {}, None, (4 * factor, -2 * factor)),
        (NoiseArm, {}, (3, 4), (4 * factor + rest * 0.6, -2 * factor + rest * 0.8)),
    )

    @pytest.mark.parametrize(("model", "settings", "noise", "expected"), EXPECTED, ids=lambda one: str(one)[-20:-2])
    def test_updates(self, model, settings, noise, expected):
        alpha = {} if model is SmoothingArm else {"alpha": 0.3}
        arm = model(stepsize=0.5, median="pairs", **alpha, **settings)
        drawn = None if noise is None else torch.tensor(noise).view(1, 2, 1)
        found = updated(arm, self.gradients, self.particles, drawn).flatten().tolist()
        assert found == pytest.approx(expected)

    def test_ratio(self):
        """|alpha R| / |K G|, and with G in place of K G; of the controls of svgd it is that of svgd."""
        for model, driving in {SvgdArm: math.hypot(10 / 3, 2 / 3), RepulsionOnlyArm: math.hypot(4, 2)}.items():
            arm, ratios = model(alpha=0.3, median="pairs"), []
            rewritten(self.gradients, self.particles, arm, torch.randn_like, ratios)
            assert ratios[0].tolist() == pytest.approx([math.sqrt(2) * self.push / driving])
        gradients, particles, _ = random_system()
        ratios = []
        for model in (SvgdArm, SposArm, ScaledArm, NoiseArm, GrowthArm):
            rewritten(gradients, particles, model(**PUSH), torch.randn_like, ratios)
        for own in ratios:
            torch.testing.assert_close(own, ratios[0])
            assert own.shape == (3,)


def systems():
    """Yield gradients, particles and noise: of several sizes, coinciding but for one head, without gradients."""
    for heads in (2, 4, 7):
        yield random_system(heads=heads)
    gradients, particles, noise = random_system(heads=4)
    particles[:, :3] = particles[:, :1].clone()  # half of the distances are 0
    yield gradients, particles, noise
    yield torch.zeros_like(gradients), particles, noise


@every_method
def test_updates_equal_the_loop(arm):
    rows = [(parts, "pairs", 1.0) for parts in systems()]
    rows += [(random_system(), "with-diagonal", 1.0), (random_system(), "pairs", 0.25)]
    for parts, median, strength in rows:
        own = arm.model_copy(update={"median": median, "strength": strength})
        gradients, particles, noise = (part.double() for part in parts)
        slow = slow_update(gradients, particles, noise=noise, **given_to_the_loop(own))
        size = slow.abs().max().item()
        torch.testing.assert_close(updated(own, gradients, particles, noise), slow, rtol=1e-12, atol=1e-12 * size)
        single = updated(own, *(part.float() for part in parts))
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), slow, rtol=1e-5, atol=1e-6 * size)


def test_strength_zero_returns_the_gradients_themselves():
    for arm in EVERY:
        gradients, particles, _ = random_system()
        assert updated(arm.model_copy(update={"strength": 0.0}), gradients, particles) is gradients


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


def test_close_heads_far_from_zero_keep_their_distance():
    """1e-3 apart on an offset of 100: a Gram matrix in float32 would see only rounding."""
    particles = 100 + 1e-3 * random_system()[1]
    squared = measure_distances(particles)
    width = bandwidth(squared)
    slow = -slow_update(torch.zeros(3, 5, 12), particles, alpha=1.0, stepsize=5.0)  # 5 = heads
    found = repulsion(particles, kernel(squared, width), width)
    torch.testing.assert_close(found.double(), slow, rtol=1e-4, atol=1e-4 * slow.abs().max().item())


class TestCoincidingHeads:
    """They coincide: all K are 1 and the direction of repulsion is undefined. stepsize / M = 0.06."""

    def test_they_are_not_pushed(self):
        gradients, _, noise = random_system()
        shared = 0.06 * gradients.sum(1, keepdim=True).expand_as(gradients)
        expected = {"svgd": shared, "smoothing": shared, "growth": shared, "repulsion-only": 0.06 * gradients}
        for arm in (one for one in EVERY if one.method in expected):
            for median in MEDIANS:
                own = arm.model_copy(update={"median": median})
                found = updated(own, gradients, torch.ones(3, 5, 12), noise)
                torch.testing.assert_close(found, expected[arm.method])

    @every_method
    def test_updates_are_finite(self, arm):
        gradients, particles, noise = random_system()
        particles[0], particles[1, 1:] = 1.0, 2.0
        particles[2] = 1e-7 * particles[2]
        assert updated(arm, gradients, particles, noise).isfinite().all()

    def test_nearly_in_one_place_stays_finite(self):
        """Of two sizes: at 1e-20 the width of the first system is below the smallest normal number."""
        for apart in (1e-7, 1e-15, 1e-20, 1e-25):
            particles = apart * random_system()[1] * torch.tensor([1, 3, 10])[:, None, None]
            squared = measure_distances(particles)
            width = bandwidth(squared)
            for push in (repulsion, growth):
                assert push(particles, kernel(squared, width), width).isfinite().all(), (apart, push)


class TestMatchedAlpha:
    """Weights as fairseq initialises them, and gradients whose norm grows with the root of the width."""

    def ratio(self, heads, width):
        generator = torch.Generator().manual_seed(heads)
        weights = [nn.Parameter(torch.randn(width, width, generator=generator) / (2 * width) ** 0.5) for _ in range(3)]
        for weight in weights:
            weight.grad = torch.randn(width, width, generator=generator) / width**0.5
        return GradientRewriter({Site("E", 1, heads): weights}, SvgdArm(), seed=1).rewrite(0).item()

    def test_makes_repulsion_as_strong_as_at_the_papers_shape(self):
        assert match_alpha(4, 512) == pytest.approx(0.01)
        expected = self.ratio(4, 512)
        for heads, width in ((3, 96), (8, 64), (4, 128), (8, 128), (16, 256)):
            assert self.ratio(heads, width) == pytest.approx(expected, rel=0.1), (heads, width)


# by site: heads, rows of each projection, and how wide its input is for query, key and value.
# E1 and E2 are alike; A1 reads keys and values from a wider stack; D2 has other heads in weights of E1's shape
SHAPES = {
    "E1": (Site("E", 1, 4), 8, (6, 6, 6)),
    "E2": (Site("E", 2, 4), 8, (6, 6, 6)),
    "A1": (Site("A", 1, 4), 8, (6, 10, 10)),
    "D1": (Site("D", 1, 3), 9, (5, 5, 5)),
    "D2": (Site("D", 2, 2), 8, (6, 6, 6)),
}
NOISY = SposArm(**PUSH, beta=0.1)


def projections(names=tuple(SHAPES)):
    """Return random weights with random gradients, the same on every call."""
    generator = torch.Generator().manual_seed(0)
    built = {}
    for name, (site, rows, widths) in SHAPES.items():
        weights = [nn.Parameter(torch.randn(rows, width, generator=generator)) for width in widths]
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        if name in names:
            built[site] = weights
    return built


def gradients_after(arm, built=None, *, seed=1, update=0):
    """Return copies of all gradients after an update, by site and place (query, key, value); no arm for no update."""
    built = built or projections()
    if arm:
        GradientRewriter(built, arm, seed=seed).rewrite(update)
    return {(str(site), place): w.grad.clone() for site, found in built.items() for place, w in enumerate(found)}


def blocks(tensors, heads):
    """Return one system: each head's rows of every tensor, flattened and put behind each other, (1, heads, n)."""
    rows = len(tensors[0]) // heads
    parts = [[tensor[head * rows : (head + 1) * rows].reshape(-1) for tensor in tensors] for head in range(heads)]
    return torch.stack([torch.cat(part) for part in parts])[None]


def slowly(arm, systems):
    """Return the slow reference, as gradients of the same shapes; `systems` are lists of (heads, weights)."""
    result = []
    for heads, weights in systems:
        raw = [weight.grad for weight in weights], [weight.detach() for weight in weights]
        update = slow_update(*(blocks(part, heads) for part in raw), **given_to_the_loop(arm))[0].float()  # (heads, n)
        sizes = [weight.numel() // heads for weight in weights]
        result += [part.reshape(weight.shape) for part, weight in zip(update.split(sizes, dim=1), weights)]
    return result


class TestSitesOfAModel:
    @pytest.mark.parametrize("particles", ["separate", "joined"])
    def test_every_system_equals_the_slow_reference(self, particles):
        for arm in (SvgdArm(**PUSH), SvgdArm(**PUSH, strength=0.25), RepulsionOnlyArm(**PUSH), ScaledArm(**PUSH)):
            built = projections()
            if particles == "joined":
                systems = [(site.heads, found) for site, found in built.items()]
            else:
                systems = [(site.heads, [weight]) for site, found in built.items() for weight in found]
            wanted = slowly(arm, systems)
            weights = [weight for found in built.values() for weight in found]
            before = [weight.detach().clone() for weight in weights]
            places = [weight.grad.data_ptr() for weight in weights]
            GradientRewriter(built, arm.model_copy(update={"particles": particles}), seed=1).rewrite(0)
            for weight, want in zip(weights, wanted, strict=True):
                torch.testing.assert_close(weight.grad, want, rtol=1e-5, atol=1e-6)
            assert all(torch.equal(*pair) for pair in zip(weights, before))
            assert [weight.grad.data_ptr() for weight in weights] == places  # optimizers keep hold of these tensors

    @pytest.mark.parametrize("particles", ["separate", "joined"])
    def test_only_those_that_the_arm_acts_on(self, particles):
        plain, everywhere = gradients_after(None), gradients_after(SvgdArm(**PUSH, particles=particles))
        for sites, touched in (
            (("all",), ["E1", "E2", "A1", "D1", "D2"]),
            (("first",), ["E1", "A1", "D1"]),
            (("A", "D"), ["A1", "D1", "D2"]),
            (("E", "D1"), ["E1", "E2", "D1"]),
        ):
            for key, gradient in gradients_after(SvgdArm(**PUSH, sites=sites, particles=particles)).items():
                assert torch.equal(gradient, (everywhere if key[0] in touched else plain)[key]), (sites, key)
                assert torch.equal(gradient, plain[key]) == (key[0] not in touched), (sites, key)

    @pytest.mark.parametrize("particles", ["separate", "joined"])
    def test_missing_gradients_are_passed_over(self, particles):
        arm, site = SvgdArm(**PUSH, particles=particles), SHAPES["E2"][0]
        plain, whole, built = gradients_after(None), gradients_after(arm), projections()
        built[site][1].grad = None
        GradientRewriter(built, arm, seed=1).rewrite(0)
        assert built[site][1].grad is None
        built[site][1].grad = torch.zeros(8, 6)  # so that the others can be listed
        found = gradients_after(None, built)
        for key in found.keys() - {("E2", 1)}:
            alone = key[0] == "E2" and particles == "joined"  # joined particles lack a part
            torch.testing.assert_close(found[key], (plain if alone else whole)[key])

    def test_noise_is_a_function_of_seed_and_update(self):
        for arm in (NOISY, NoiseArm(**PUSH)):
            first = gradients_after(arm, seed=3, update=7)
            torch.rand(5)  # others draw in between
            again = gradients_after(arm, seed=3, update=7)
            assert all(torch.equal(gradient, again[key]) for key, gradient in first.items())
            for other in (gradients_after(arm, seed=3, update=8), gradients_after(arm, seed=4, update=7)):
                assert not any(torch.allclose(gradient, other[key]) for key, gradient in first.items())

    def test_noise_is_standard_normal_and_every_site_has_its_own(self):
        """From gradients of one everywhere, and one head: spos = 0.3 + 0.3 * 0.1 + sqrt(0.06) * noise."""
        built = {Site("E", layer, 1): [nn.Parameter(torch.ones(50, 50)) for _ in range(3)] for layer in (1, 2)}
        for weight in (weight for weights in built.values() for weight in weights):
            weight.grad = torch.ones(50, 50)
        found = torch.stack(list(gradients_after(NOISY, built).values())).flatten(1)  # (6, 2500)
        noise = (found - 0.33) / 0.06**0.5
        assert noise.mean().item() == pytest.approx(0, abs=0.03)  # 15000 numbers: four standard errors
        assert noise.std().item() == pytest.approx(1, abs=0.025)
        assert (torch.corrcoef(noise) - torch.eye(6)).abs().max() < 0.1  # five standard errors

    def test_what_is_no_system_is_told(self):
        with pytest.raises(HeadroomError, match="no site of the model has trainable projections"):
            GradientRewriter(projections(["E1", "D1"]), SvgdArm(sites=("A",)), seed=1)
        for site, weight, message in (
            (Site("D", 3, 4), torch.ones(8, 6).bfloat16(), "D3: repulsion needs float32 weights"),
            *((Site("A", 2, 4), torch.ones(rows, 6), f"A2: cannot split {rows} rows into 4") for rows in (0, 2, 6)),
        ):
            with pytest.raises(HeadroomError, match=message):
                GradientRewriter({site: [nn.Parameter(weight)]}, NOISY, seed=1)


class TestGeometry:
    """Measures of one system: norms, kernels and directions of repulsion."""

    def test_three_particles(self):
        """0, 1 and 3 on a line: d^2 = 1, 4, 9; h^2 = 2 / ln 4 = 1 / ln 2, k = 2^(-d^2 / 2) = a, b, c."""
        a, b, c = 2**-0.5, 2**-2.0, 2**-4.5
        mean = (a + b + c) / 3
        assert geometry(torch.tensor([[0.0], [1.0], [3.0]])) == pytest.approx(
            {
                "norm": math.sqrt(10),
                "kernel_mean": mean,
                "kernel_sd": math.sqrt(((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2) / 3),
                # R is -(a + 3 c) at 0, a - 2 b = .207 at 1, positive at 3; the head at 0 has no direction, the mean
                # is 4/3
                "repulsion_from_origin": (0 + 1 + 1) / 3,
                "repulsion_from_mean": (1 - 1 + 1) / 3,
            }
        )

    def test_they_are_of_the_repulsion_that_arms_train_with(self):
        particles = random_system(systems=1)[1][0] + 0.4
        x = particles[None].double()
        repelled = -slow_update(torch.zeros_like(x), x, alpha=1.0, stepsize=5.0)  # 5 = heads
        found = geometry(particles)
        for measure, centre in (("repulsion_from_origin", 0.0), ("repulsion_from_mean", x.mean(dim=1, keepdim=True))):
            assert found[measure] == pytest.approx(torch.cosine_similarity(repelled, x - centre, dim=-1).mean().item())
        squared = measure_distances(x)
        width = bandwidth(squared)
        assert width.item() == pytest.approx(slow_width(x[0].numpy(), "pairs"))
        torch.testing.assert_close(repulsion(x, kernel(squared, width), width), repelled)


class TestKnownTarget:
    """Particles sample a mixture of two Gaussians in the plane, the textbook check of Liu & Wang 2016.

    Every system is a run of its own: other starting points, other noise. The stepsize makes good the division by the
    number of particles. The rate is small: a heap moves M times as fast.
    """

    RUNS, PARTICLES, STEPS, RATE = 4, 60, 400, 0.02
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

    def slope(self, points: Tensor) -> Tensor:
        """Return the gradient of -log p at points (..., 2), written out and not taken from autograd."""
        away = points[..., None, :] - self.MEANS  # (..., parts, 2)
        pulls = torch.einsum("kij,...kj->...ki", torch.linalg.inv(self.COVARIANCES), away)
        logs = self.WEIGHTS.log() - torch.logdet(self.COVARIANCES) / 2 - (away * pulls).sum(-1) / 2
        return (logs.softmax(-1)[..., None] * pulls).sum(-2)

    def particles_after(self, arm) -> Tensor:
        """Return the particles of every run, (runs, particles, 2); they start in a heap next to the target."""
        generator = torch.Generator().manual_seed(0)

        def drawn(like: Tensor) -> Tensor:
            return torch.randn(like.shape, generator=generator)

        points = 2 + 0.5 * drawn(torch.empty(self.RUNS, self.PARTICLES, 2))
        for _ in range(self.STEPS):
            points = points - self.RATE * rewritten(self.slope(points), points, arm, drawn)
        return points

    @pytest.mark.parametrize("model", [SvgdArm, SposArm])
    def test_mean_and_covariance_are_recovered(self, model):
        beta = {"beta": 0.001} if model is SposArm else {}
        points = self.particles_after(model(alpha=1.0, stepsize=self.PARTICLES, **beta))
        covariances = torch.stack([torch.cov(run.T) for run in points])
        torch.testing.assert_close(points.mean(1), self.MEAN.expand(self.RUNS, 2), atol=0.06, rtol=0)
        torch.testing.assert_close(covariances, self.COVARIANCE.expand(self.RUNS, 2, 2), atol=0, rtol=0.15)

    def test_without_repulsion_particles_collapse(self):
        """Except for a straggler, which a kernel of width zero does not move, they end in one point."""
        arms = SmoothingArm(stepsize=self.PARTICLES), SvgdArm(alpha=1.0, stepsize=self.PARTICLES)
        collapsed, repelled = (
            torch.stack([torch.pdist(run).median() for run in self.particles_after(arm)]) for arm in arms
        )
        assert repelled.min() > 1
        assert (collapsed < 0.01 * repelled).all()
