"""Penalties on similar heads: against a direct computation from the outputs of projections, and in training steps."""

import math
from itertools import combinations, product

import pytest
import torch
from fairseq_models import batch, gradients, make_trainer
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.arms import arm_arguments
from headroom.engines.repulsion.regularisers import regulariser
from headroom.settings.arms import (
    BaselineArm,
    DisagreementOutputArm,
    DisagreementPositionArm,
    DisagreementSubspaceArm,
    RepulsionLossArm,
)
from toy_sites import HEADS, Caught, plain_sites

PENALTIES = [DisagreementSubspaceArm, DisagreementPositionArm, DisagreementOutputArm, RepulsionLossArm]
every_penalty = pytest.mark.parametrize("model", PENALTIES, ids=lambda model: model().method)


def slow_term(model, caught, real, sites=None):
    """Return the mean over sites of the mean over real positions, one position and pair of heads at a time."""
    terms = []
    for site, seen in caught.by_site.items():
        if sites is None or str(site) in sites:
            queries, keys = real[site.kind]
            rows = queries if model is not DisagreementSubspaceArm else keys
            values = [slow_position(model, site, seen, real, b, t) for b, t in rows.nonzero().tolist()]
            terms.append(torch.stack(values).mean())
    return torch.stack(terms).mean()


def slow_position(model, site, seen, real, b, t):
    """Return the similarity of heads at one position of one example: the mean over pairs."""
    if model is DisagreementPositionArm:
        looked = [weights_of(site, seen, real, b, t, head) for head in range(HEADS)]
        pairs = [(one * other).sum() for one, other in combinations(looked, 2)]
    else:
        vectors = seen["value" if model is DisagreementSubspaceArm else "z"][b, t]  # (H, d)
        if model is RepulsionLossArm:
            squared = [(one - other).square().sum() for one, other in combinations(vectors, 2)]
            middle = sorted(distance.item() for distance in squared)
            h2 = 0.5 * (middle[2] + middle[3]) / 2 / math.log(HEADS + 1)  # of the six pairs of four heads
            pairs = [(-distance / (2 * h2)).exp() for distance in squared]
        else:
            pairs = [cosine(one, other) for one, other in combinations(vectors, 2)]
    return torch.stack(pairs).mean()


def cosine(one, other):
    """Return 0 where dropout on attention weights has left nothing of a head."""
    lengths = one.norm() * other.norm()
    return one @ other / lengths if lengths > 0 else lengths


def weights_of(site, seen, real, b, t, head):
    """Return a head's attention from one position: over real keys, in the decoder only to earlier ones."""
    query, keys = seen["query"][b, t, head], seen["key"][b, :, head]
    allowed = [s for s in real[site.kind][1][b].nonzero().flatten().tolist() if site.kind != "D" or s <= t]
    return (keys[allowed] @ query / math.sqrt(len(query))).softmax(0)


class TestPenalties:
    @every_penalty
    def test_equal_a_direct_computation_in_value_and_gradient(self, engine, model):
        caught = Caught(engine)
        term = engine.term(model(weight=0.7))
        slow = 0.7 * slow_term(model, caught, engine.real)
        assert term.item() == pytest.approx(slow.item(), rel=1e-5)
        parameters = [weight for weight in engine.model.parameters() if weight.requires_grad]
        found, wanted = (
            torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True, materialize_grads=True)
            for loss in (term, slow)
        )
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4 * max(part.abs().max() for part in wanted))

    def test_only_of_the_sites_that_the_arm_acts_on(self, engine):
        caught = Caught(engine)
        for model, (words, names) in product(PENALTIES, {("E1",): {"E1"}, ("first",): {"E1", "A1", "D1"}}.items()):
            term = engine.term(model(weight=1, sites=words))
            expected = slow_term(model, caught, engine.real, names).item()
            assert term.item() == pytest.approx(expected, rel=1e-5), (model, words)

    @every_penalty
    def test_the_forward_pass_is_the_plain_one_and_nothing_stays_behind(self, engine, model):
        engine.model.eval()

        def unpadded(logits):
            return logits[engine.real["D"][0]] if "D" in engine.real else logits

        plain = engine.forward()
        found = regulariser(model(), engine.sites, engine.maps, seed=1, batch_first=engine.batch_first)
        logits, term = found(engine.forward, engine.real, update=0, batch=0)
        torch.testing.assert_close(unpadded(logits), unpadded(plain))

        def fails():
            raise RuntimeError("inside")

        with pytest.raises(RuntimeError, match="inside"):
            found(fails, engine.real, update=0, batch=0)
        hooks = [hook for live in engine.sites for hook in (*live.value._forward_hooks, *live.attention._forward_hooks)]
        assert not hooks
        logits, again = found(engine.forward, engine.real, update=5, batch=1)
        torch.testing.assert_close(unpadded(logits), unpadded(plain))
        assert torch.equal(again, term)

    def test_single_heads_alone_are_refused(self):
        for model in PENALTIES:
            with pytest.raises(HeadroomError, match=f"{model().method}: no site of E1, A has 2 heads or more"):
                regulariser(model(sites=("E1", "A")), plain_sites(heads=1), None, seed=1, batch_first=True)


def trainer_of(data, arm, *extra):
    return make_trainer(data, *arm_arguments(arm, 1), "--dropout", "0", *extra)


def step(trainer, *rows):
    trainer.train_step([batch(trainer, part) for part in rows])
    return trainer


def test_a_penalty_changes_gradients_in_proportion_to_its_weight(data):
    arms = BaselineArm(), DisagreementPositionArm(weight=1), DisagreementPositionArm(weight=2)
    plain, once, twice = (gradients(step(trainer_of(data, arm), range(8))) for arm in arms)
    changed = 0
    for name, gradient in plain.items():
        difference = once[name] - gradient
        changed += int(difference.abs().max() > 1e-6)
        torch.testing.assert_close(twice[name] - gradient, 2 * difference, rtol=2e-3, atol=2e-6)
    assert changed > 10


def test_accumulated_batches_weigh_the_term_by_targets(data):
    parts, arms = (range(3), range(3, 8)), (DisagreementOutputArm(weight=1.0), BaselineArm())
    whole, plain = (gradients(step(trainer_of(data, arm, "--update-freq", "2"), *parts)) for arm in arms)
    sizes, alone = [], []
    for rows in parts:
        with_term, without = (gradients(step(trainer_of(data, arm), rows)) for arm in arms)
        sizes.append(batch(trainer_of(data, BaselineArm()), rows)["ntokens"])
        alone.append({name: with_term[name] - without[name] for name in with_term})
    for name in whole:
        wanted = sum(size * one[name] for size, one in zip(sizes, alone)) / sum(sizes)
        torch.testing.assert_close(whole[name] - plain[name], wanted, rtol=5e-3, atol=2e-6)
