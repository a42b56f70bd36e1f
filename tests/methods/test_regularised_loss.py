"""The criterion inside real fairseq training steps: penalties and dropped heads."""

import pytest
import torch
from fairseq_models import batch, gradients, make_trainer, weights
from headroom.engines.fairseq.arms import arm_arguments
from headroom.engines.fairseq.sites import attention_maps, find_sites
from headroom.engines.repulsion.regularisers import regulariser
from headroom.settings.arms import ARMS, BaselineArm, DisagreementOutputArm, DropHeadArm, HeadMaskArm

PENALTIES = ["disagreement-subspace", "disagreement-position", "disagreement-output", "repulsion-loss"]
NO_DROPOUT = ("--dropout", "0")


@pytest.fixture(scope="module")
def plain(data):
    """Gradients of an update of the baseline."""
    return gradients(step(trainer_of(data, BaselineArm()), range(8)))


def trainer_of(data, arm, *extra, seed=1):
    return make_trainer(data, *arm_arguments(arm, seed), *NO_DROPOUT, *extra)


def step(trainer, *rows):
    trainer.train_step([batch(trainer, part) for part in rows])
    return trainer


@pytest.mark.parametrize("method", PENALTIES)
def test_weight_zero_is_the_baseline(data, plain, method):
    found = gradients(step(trainer_of(data, ARMS[method](weight=0)), range(8)))
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, plain[name], rtol=1e-4, atol=1e-6)  # another kernel of attention


@pytest.mark.parametrize("method", PENALTIES)
def test_a_penalty_changes_gradients_in_proportion_to_its_weight(data, plain, method):
    once, twice = (gradients(step(trainer_of(data, ARMS[method](weight=w)), range(8))) for w in (1.0, 2.0))
    changed = 0
    for name, gradient in plain.items():
        difference = once[name] - gradient
        changed += int(difference.abs().max() > 1e-6)
        torch.testing.assert_close(twice[name] - gradient, 2 * difference, rtol=2e-3, atol=2e-6)
    assert changed > 10


@pytest.mark.parametrize("method", ["disagreement-output", "repulsion-loss"])
def test_many_updates_make_heads_less_alike(data, method):
    """The penalty at its own model's z falls against the same training without it."""
    left = []
    for weight in (0.0, 3.0):
        trainer = trainer_of(data, ARMS[method](weight=weight))
        for start in [*range(0, 40, 8)] * 6:
            step(trainer, range(start, start + 8))
        probe = regulariser(
            ARMS[method](weight=1.0), find_sites(trainer.model), attention_maps, seed=1, batch_first=False
        )
        sample = batch(trainer, range(8))
        real = trainer.criterion._real(sample)
        trainer.model.eval()
        with torch.no_grad():
            left.append(float(probe(lambda t=trainer, s=sample: t.model(**s["net_input"]), real, update=0, batch=0)[1]))
    assert left[1] < left[0] - 0.02


def test_accumulated_batches_weigh_the_term_by_targets(data):
    arm = DisagreementOutputArm(weight=1.0)
    parts = trainer_of(data, arm, "--update-freq", "2")
    found = gradients(step(parts, range(3), range(3, 8)))
    plain = gradients(step(trainer_of(data, BaselineArm(), "--update-freq", "2"), range(3), range(3, 8)))
    sizes, alone = [], []
    for rows in (range(3), range(3, 8)):
        single = trainer_of(data, arm)
        sizes.append(batch(single, rows)["ntokens"])
        with_term = gradients(step(single, rows))
        without = gradients(step(trainer_of(data, BaselineArm()), rows))
        alone.append({name: with_term[name] - without[name] for name in with_term})
    for name in found:
        wanted = sum(size * one[name] for size, one in zip(sizes, alone)) / sum(sizes)
        torch.testing.assert_close(found[name] - plain[name], wanted, rtol=5e-3, atol=2e-6)


def test_masked_heads_get_no_gradient_through_z(data):
    trainer = trainer_of(data, HeadMaskArm(masked=3))
    step(trainer, range(8))
    for live in find_sites(trainer.model):
        columns = live.output.weight.grad.unflatten(1, (4, -1)).abs().sum((0, 2))  # (heads,)
        assert (columns == 0).sum() == 3, live.site


@pytest.mark.parametrize("arm", [HeadMaskArm(), DropHeadArm(rate=0.4)])
def test_draws_depend_on_seed_update_and_batch_alone(data, arm):
    first, again = (trainer_of(data, arm) for _ in range(2))
    torch.manual_seed(3)
    step(first, range(8), range(8, 16))
    torch.manual_seed(4)
    step(again, range(8), range(8, 16))
    expected = weights(first)
    assert all(torch.equal(weight, expected[name]) for name, weight in weights(again).items())
    other = weights(step(trainer_of(data, arm, seed=2), range(8), range(8, 16)))
    assert any(not torch.equal(weight, expected[name]) for name, weight in other.items())
