"""What must not matter to the updates of particles, what must, and what becomes of degenerate systems."""

import pytest
import torch
from headroom.settings.arms import SmoothingArm, SvgdArm
from particle_systems import EVERY, PUSH, every_method, random_system, updated


@every_method
def test_permuting_heads_permutes_updates(arm):
    parts = random_system(heads=6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    permuted = updated(arm, *(part[:, order] for part in parts))
    torch.testing.assert_close(permuted, updated(arm, *parts)[:, order])


@every_method
def test_systems_do_not_see_each_other(arm):
    gradients, particles, noise = random_system()
    alone = updated(arm, gradients[1:2], particles[1:2], noise[1:2])
    gradients[0], particles[2] = 1e3, 7.0  # one system of huge gradients, one of coinciding heads
    torch.testing.assert_close(updated(arm, gradients, particles, noise)[1:2], alone)


def test_svgd_without_repulsion_is_smoothing():
    gradients, particles, _ = random_system()
    assert torch.equal(
        updated(SvgdArm(alpha=0, stepsize=0.3), gradients, particles),
        updated(SmoothingArm(stepsize=0.3), gradients, particles),
    )


class TestCoincidingHeads:
    """Nothing tells them apart: all K are 1 and there is no direction to repel in. stepsize / M = 0.06."""

    expected = (
        ("svgd", lambda g: 0.06 * g.sum(1, keepdim=True).expand_as(g)),
        ("smoothing", lambda g: 0.06 * g.sum(1, keepdim=True).expand_as(g)),
        ("repulsion-only", lambda g: 0.06 * g),
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

    def test_most_of_them(self):
        # equal heads share their gradients, the odd one keeps its own
        gradients, particles, _ = random_system(systems=1)
        particles[:, 1:] = particles[:, 1:2]
        update = updated(SvgdArm(**PUSH), gradients, particles)
        torch.testing.assert_close(update[:, 0], 0.06 * gradients[:, 0])
        torch.testing.assert_close(update[0, 1:], 0.06 * gradients[0, 1:].sum(0, keepdim=True).expand(4, -1))


@every_method
def test_a_single_head_has_none_to_share_with(arm):
    gradients, particles, noise = random_system(heads=1)
    own = 0.3 * gradients
    if arm.method == "spos":
        middle = gradients.abs().flatten(1).sort().values[:, 5]  # of 12 entries
        own = own + 0.045 * gradients + 0.3 * middle[:, None, None] * noise
    torch.testing.assert_close(updated(arm, gradients, particles, noise), own)


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
