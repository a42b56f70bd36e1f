"""The gradients of a model's projections, rewritten in place: which ones, in which pieces, with which noise."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.repulsion.particles import GradientRewriter
from headroom.settings.arms import NoiseArm, RepulsionOnlyArm, ScaledArm, SmoothingArm, SposArm, SvgdArm
from oracles import slow_update
from torch import nn

PUSH = {"alpha": 0.5, "stepsize": 0.3}
NOISY = SposArm(**PUSH, beta=0.1)

# by site: heads, rows of each projection, and how wide its input is for query, key and value.
# E1 and E2 are alike; A1 reads keys and values from a wider stack; D2 has other heads in weights of E1's shape
SHAPES = {
    "E1": (Site("E", 1, 4), 8, (6, 6, 6)),
    "E2": (Site("E", 2, 4), 8, (6, 6, 6)),
    "A1": (Site("A", 1, 4), 8, (6, 10, 10)),
    "D1": (Site("D", 1, 3), 9, (5, 5, 5)),
    "D2": (Site("D", 2, 2), 8, (6, 6, 6)),
}


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


def gradients(built):
    """Return copies of all gradients, by site and place (query, key, value)."""
    return {(str(site), place): w.grad.clone() for site, found in built.items() for place, w in enumerate(found)}


def rewritten(arm, built=None, *, seed=1, update=0):
    built = built or projections()
    GradientRewriter(built, arm, seed=seed).rewrite(update)
    return gradients(built)


def blocks(tensors, heads):
    """Return one system: each head's rows of every tensor, flattened and put behind each other, (1, heads, n)."""
    rows = len(tensors[0]) // heads
    parts = [[tensor[head * rows : (head + 1) * rows].reshape(-1) for tensor in tensors] for head in range(heads)]
    return torch.stack([torch.cat(part) for part in parts])[None]


def expected(arm, systems):
    """Return the slow reference, as gradients of the same shapes; `systems` are lists of (heads, weights)."""
    result = []
    for heads, weights in systems:
        settings = arm.model_dump(include={"method", "alpha", "stepsize", "median", "strength"})
        raw = [weight.grad for weight in weights], [weight.detach() for weight in weights]
        update = slow_update(*(blocks(part, heads) for part in raw), **settings)[0].float()  # (heads, n)
        sizes = [weight.numel() // heads for weight in weights]
        result += [part.reshape(weight.shape) for part, weight in zip(update.split(sizes, dim=1), weights)]
    return result


ARMS = [
    *(SvgdArm(**PUSH), SvgdArm(**PUSH, median="pairs"), SvgdArm(**PUSH, strength=0.25)),
    *(SmoothingArm(stepsize=0.3), RepulsionOnlyArm(**PUSH), ScaledArm(**PUSH)),
]


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: f"{arm.method}-{arm.median}-{arm.strength}")
@pytest.mark.parametrize("particles", ["separate", "joined"])
def test_every_system_equals_the_slow_reference(arm, particles):
    arm = arm.model_copy(update={"particles": particles})
    built = projections()
    if particles == "joined":
        systems = [(site.heads, found) for site, found in built.items()]
    else:
        systems = [(site.heads, [weight]) for site, found in built.items() for weight in found]
    wanted = expected(arm, systems)
    weights = [weight for found in built.values() for weight in found]
    before = [weight.detach().clone() for weight in weights]
    places = [weight.grad.data_ptr() for weight in weights]
    GradientRewriter(built, arm, seed=1).rewrite(0)
    for weight, want in zip(weights, wanted, strict=True):
        torch.testing.assert_close(weight.grad, want, rtol=1e-5, atol=1e-6)
    assert all(torch.equal(*pair) for pair in zip(weights, before))
    assert [weight.grad.data_ptr() for weight in weights] == places  # optimizers keep hold of these tensors


@pytest.mark.parametrize(
    ("sites", "touched"),
    [
        (("all",), ["E1", "E2", "A1", "D1", "D2"]),
        (("first",), ["E1", "A1", "D1"]),
        (("E",), ["E1", "E2"]),
        (("A", "D"), ["A1", "D1", "D2"]),
        (("D2",), ["D2"]),
        (("E", "D1"), ["E1", "E2", "D1"]),
    ],
    ids=",".join,
)
@pytest.mark.parametrize("particles", ["separate", "joined"])
def test_only_the_sites_that_the_arm_acts_on(sites, touched, particles):
    plain = gradients(projections())
    arm = SvgdArm(**PUSH, sites=sites, particles=particles)
    found, everywhere = rewritten(arm), rewritten(arm.model_copy(update={"sites": ("all",)}))
    for key, gradient in found.items():
        assert torch.equal(gradient, (everywhere if key[0] in touched else plain)[key]), key
        assert torch.equal(gradient, plain[key]) == (key[0] not in touched), key


class TestMissingGradients:
    site = SHAPES["E2"][0]

    def without_key(self):
        built = projections()
        built[self.site][1].grad = None
        return built

    def rewritten(self, particles):
        built = self.without_key()
        GradientRewriter(built, SvgdArm(**PUSH, particles=particles), seed=1).rewrite(0)
        assert built[self.site][1].grad is None
        built[self.site][1].grad = torch.zeros(8, 6)  # so that the others can be listed
        return gradients(built)

    @pytest.mark.parametrize("particles", ["separate", "joined"])
    def test_they_are_passed_over(self, particles):
        plain, whole = gradients(projections()), rewritten(SvgdArm(**PUSH, particles=particles))
        found = self.rewritten(particles)
        for key in found.keys() - {("E2", 1)}:
            alone = key[0] == "E2" and particles == "joined"  # joined particles lack a part
            torch.testing.assert_close(found[key], (plain if alone else whole)[key])


class TestNoise:
    @pytest.mark.parametrize("arm", [NOISY, NoiseArm(**PUSH)], ids=["spos", "noise"])
    def test_it_is_a_function_of_seed_and_update(self, arm):
        first = rewritten(arm, seed=3, update=7)
        torch.rand(5)  # others draw in between
        again = rewritten(arm, seed=3, update=7)
        assert all(torch.equal(gradient, again[key]) for key, gradient in first.items())
        for other in (rewritten(arm, seed=3, update=8), rewritten(arm, seed=4, update=7)):
            assert not any(torch.allclose(gradient, other[key]) for key, gradient in first.items())

    def test_a_training_that_goes_on_sees_the_same(self):
        built = projections()
        going = GradientRewriter(built, NOISY, seed=1)
        going.rewrite(0)
        for site, weights in projections().items():
            for mine, fresh in zip(built[site], weights):
                mine.grad.copy_(fresh.grad)
        going.rewrite(1)
        resumed = rewritten(NOISY, update=1)
        assert all(torch.equal(gradient, resumed[key]) for key, gradient in gradients(built).items())

    def test_it_is_standard_normal_and_every_site_has_its_own(self):
        """From gradients of one everywhere, and one head: spos = 0.3 + 0.3 * 0.1 + sqrt(0.06) * noise."""
        built = {}
        for layer in (1, 2):
            built[Site("E", layer, 1)] = [nn.Parameter(torch.ones(50, 50)) for _ in range(3)]
            for weight in built[Site("E", layer, 1)]:
                weight.grad = torch.ones(50, 50)
        found = torch.stack(list(rewritten(NOISY, built).values())).flatten(1)  # (6, 2500)
        noise = (found - 0.33) / 0.06**0.5
        assert noise.mean().item() == pytest.approx(0, abs=0.03)  # 15000 numbers: four standard errors
        assert noise.std().item() == pytest.approx(1, abs=0.025)
        assert (torch.corrcoef(noise) - torch.eye(6)).abs().max() < 0.1  # five standard errors


class TestErrors:
    def test_no_sites_that_the_arm_acts_on(self):
        with pytest.raises(HeadroomError, match="no site of the model has trainable projections"):
            GradientRewriter(projections(["E1", "D1"]), SvgdArm(sites=("A",)), seed=1)

    @pytest.mark.parametrize(
        ("site", "weight", "message"),
        [
            (Site("D", 3, 4), torch.ones(8, 6).half(), "D3: repulsion needs float32 weights"),
            (Site("D", 3, 4), torch.ones(8, 6).bfloat16(), "D3: repulsion needs float32 weights"),
            *((Site("A", 2, 4), torch.ones(rows, 6), f"A2: cannot split {rows} rows into 4") for rows in (0, 2, 6)),
        ],
    )
    def test_weights_that_are_no_particles(self, site, weight, message):
        with pytest.raises(HeadroomError, match=message):
            GradientRewriter({site: [nn.Parameter(weight)]}, NOISY, seed=1)
