"""HeadMask and DropHead: dropped heads by example, and the dependence of the random draw."""

import pytest
import torch
from fairseq_models import batch, make_trainer, weights
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.arms import arm_arguments
from headroom.engines.fairseq.sites import find_sites
from headroom.engines.repulsion.regularisers import drop_heads, mask_heads, regulariser
from headroom.settings.arms import DropHeadArm, HeadMaskArm
from toy_sites import HEADS, Caught, plain_sites


class Drawn:
    """Shows the gates of each call, (examples, heads) by site: what is left of ones at the output projections."""

    def __init__(self, arm, *, seed=1, examples=5):
        self.sites, self.examples = plain_sites(), examples
        self.dropping = regulariser(arm, self.sites, None, seed=seed, batch_first=True)
        self.seen = {}
        for live in self.sites:
            live.output.register_forward_pre_hook(self.keep(live.site))

    def keep(self, site):
        def hook(_, inputs):
            by_head = inputs[0].unflatten(-1, (site.heads, -1))  # (B, T, H, d)
            assert torch.equal(by_head, by_head[:, :1, :, :1].expand_as(by_head))  # all of a head, at all positions
            self.seen[str(site)] = by_head[:, 0, :, 0]

        return hook

    def forward(self):
        for live in self.sites:
            live.output(torch.ones(self.examples, 3, 2 * live.site.heads))
        return "loss"

    def __call__(self, update=0, batch=0, part=0):
        real = torch.ones(self.examples, 3, dtype=torch.bool)
        found = self.dropping(self.forward, dict.fromkeys("EAD", (real, real)), update=update, batch=batch, part=part)
        assert found == ("loss", 0.0)
        return dict(self.seen)


DROPPING = [HeadMaskArm(masked=2), DropHeadArm(rate=0.4)]
both = pytest.mark.parametrize("arm", DROPPING, ids=lambda arm: arm.method)


def alike(one, other):
    return all(torch.equal(gates, other[site]) for site, gates in one.items())


class TestDropping:
    @both
    def test_draws_depend_on_seed_update_and_batch_and_of_examples_on_the_part(self, arm):
        first = Drawn(arm, seed=3)(update=7, batch=1)
        assert alike(first, Drawn(arm, seed=3)(update=7, batch=1))
        for other in ({"seed": 4}, {"update": 8}, {"batch": 2}, {"update": 1, "batch": 7}):
            seed = other.pop("seed", 3)
            assert not alike(first, Drawn(arm, seed=seed)(**{"update": 7, "batch": 1, **other}))
        part = Drawn(arm, seed=3)(update=7, batch=1, part=1)
        assert alike(first, part) == (arm.method == "headmask")

    @both
    def test_only_at_the_sites_that_the_arm_acts_on(self, arm):
        gates = Drawn(arm.model_copy(update={"sites": ("A", "D1")}))()
        changed = {site for site, gate in gates.items() if not torch.equal(gate, torch.ones(5, HEADS))}
        assert changed == {"A1", "A2", "D1"}

    @both
    def test_gates_are_gone_after_the_forward_pass_even_after_an_error(self, arm):
        drawn = Drawn(arm)
        drawn()
        drawn.forward()
        assert all(torch.equal(gate, torch.ones(5, HEADS)) for gate in drawn.seen.values())
        inside = drawn.forward

        def fails():
            inside()
            raise RuntimeError("inside")

        drawn.forward = fails
        with pytest.raises(RuntimeError, match="inside"):
            drawn()
        assert any(gate.eq(0).any() for gate in drawn.seen.values())
        inside()
        assert all(torch.equal(gate, torch.ones(5, HEADS)) for gate in drawn.seen.values())

    @both
    def test_in_a_live_model_heads_are_gone_for_their_examples(self, engine, arm):
        """The input of the output projections is z times one number per example and head."""
        engine.model.eval()
        plain = engine.forward()
        ungated = Caught(engine)
        found = regulariser(arm, engine.sites, engine.maps, seed=1, batch_first=engine.batch_first)
        gated = Caught(engine)  # its hooks come after those of the gates
        dropped, term = found(engine.forward, engine.real, update=0, batch=0)
        assert term == 0
        assert not torch.allclose(dropped, plain, atol=1e-3)
        for site, seen in gated.by_site.items():
            z = ungated.by_site[site]["z"]
            gates = (seen["z"] / z).nanmedian(-1).values.nanmedian(1).values  # (B, H)
            torch.testing.assert_close(seen["z"], z * gates[:, None, :, None])
            gone = gates.eq(0).sum(1)
            assert gone.tolist() == [2] * len(gone) if arm.method == "headmask" else gone.max() < HEADS
        torch.testing.assert_close(engine.forward(), plain)


class TestHeadMask:
    def test_so_many_heads_of_each_site_for_the_whole_batch(self):
        for masked in (1, 2, 3):
            drawn = Drawn(HeadMaskArm(masked=masked))
            for gates in (gates for update in range(10) for gates in drawn(update=update).values()):
                assert torch.equal(gates, gates[:1].expand_as(gates))
                assert sorted(gates[0].tolist()) == [0.0] * masked + [1.0] * (HEADS - masked)

    def test_every_head_is_masked_equally_often(self):
        # 3 of 8 heads: 4000 draws have a standard error of sqrt(3/8 * 5/8 / 4000) = 0.0077
        generator = torch.Generator().manual_seed(0)
        gates = torch.stack([mask_heads(8, 3, generator) for _ in range(4000)])
        assert gates.mean(0).tolist() == pytest.approx([5 / 8] * 8, abs=0.03)
        together = (1 - gates).T @ (1 - gates) / 4000  # both of a pair: 3/8 * 2/7
        assert together[0, 1:].tolist() == pytest.approx([3 / 28] * 7, abs=0.02)

    def test_too_few_heads(self):
        with pytest.raises(HeadroomError, match="headmask: masks 4 of the 4 heads of A1"):
            regulariser(HeadMaskArm(masked=4, sites=("A",)), plain_sites(), None, seed=1, batch_first=True)


class TestDropHead:
    def test_gates_of_an_example_are_zero_or_equal_and_sum_to_the_heads(self):
        drawn = Drawn(DropHeadArm(rate=0.5), examples=50)
        for gates in drawn().values():
            torch.testing.assert_close(gates.sum(1), torch.full((50,), float(HEADS)))
            kept = gates.gt(0).sum(1, keepdim=True)
            torch.testing.assert_close(gates, gates.gt(0) * HEADS / kept)
            assert set(kept.flatten().tolist()) == {1, 2, 3, 4}
        assert not torch.equal(gates, gates[:1].expand_as(gates))  # examples draw for themselves

    def test_an_example_that_would_lose_all_heads_keeps_them(self):
        # rate 0.9: of 2 heads all go with probability 0.81, none with 0.01, so that 82 % keep both
        gates = drop_heads(20000, 2, 0.9, torch.Generator().manual_seed(0))
        assert gates.eq(1).all(1).float().mean().item() == pytest.approx(0.82, abs=0.012)
        assert gates.sum(1).eq(2).all()


def test_masked_heads_get_no_gradient_through_z_in_a_training_step(data):
    trainer = make_trainer(data, *arm_arguments(HeadMaskArm(masked=3), 1))
    trainer.train_step([batch(trainer, range(8))])
    for live in find_sites(trainer.model):
        columns = live.output.weight.grad.unflatten(1, (4, -1)).abs().sum((0, 2))  # (heads,)
        assert (columns == 0).sum() == 3, live.site


def test_draws_of_training_steps_depend_on_seed_update_and_batch_alone(data):
    def trained(arm, seed, drawn):
        trainer = make_trainer(data, *arm_arguments(arm, seed), "--dropout", "0")
        torch.manual_seed(drawn)
        trainer.train_step([batch(trainer, part) for part in (range(8), range(8, 16))])
        return weights(trainer)

    for arm in (HeadMaskArm(), DropHeadArm(rate=0.4)):
        first, again, other = trained(arm, 1, 3), trained(arm, 1, 4), trained(arm, 2, 3)
        torch.testing.assert_close(again, first)
        assert any(not torch.allclose(weight, first[name]) for name, weight in other.items())
