"""Penalties on similar heads, against a direct computation from the outputs of the projections."""

import math
from itertools import combinations

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.repulsion.regularisers import regulariser
from headroom.settings.arms import (
    DisagreementOutputArm,
    DisagreementPositionArm,
    DisagreementSubspaceArm,
    RepulsionLossArm,
)
from toy_sites import HEADS, Caught, of_transformers, plain_sites

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

    @every_penalty
    @pytest.mark.parametrize("words", [("E1",), ("first",)], ids=" ".join)
    def test_only_of_the_sites_that_the_arm_acts_on(self, engine, model, words):
        caught = Caught(engine)
        term = engine.term(model(weight=1, sites=words))
        names = {"E1", "A1", "D1"} if words == ("first",) else {"E1"}
        assert term.item() == pytest.approx(slow_term(model, caught, engine.real, names).item(), rel=1e-5)

    @every_penalty
    def test_the_forward_pass_is_the_plain_one_and_nothing_stays_behind(self, engine, model):
        engine.model.eval()

        def unpadded(logits):
            return logits[engine.real["D"][0]] if "D" in engine.real else logits

        plain = engine.forward()
        found = regulariser(model(), engine.sites, engine.maps, seed=1, batch_first=engine.batch_first)
        for _ in range(2):
            logits, _ = found(engine.forward, engine.real, update=0, batch=0)
            torch.testing.assert_close(unpadded(logits), unpadded(plain))

        def fails():
            raise RuntimeError("inside")

        with pytest.raises(RuntimeError, match="inside"):
            found(fails, engine.real, update=0, batch=0)
        hooks = [hook for live in engine.sites for hook in (*live.value._forward_hooks, *live.attention._forward_hooks)]
        assert not hooks
        again = found(engine.forward, engine.real, update=0, batch=1)
        torch.testing.assert_close(unpadded(again[0]), unpadded(plain))
        assert torch.equal(again[1], found(engine.forward, engine.real, update=5, batch=0)[1])

    @pytest.mark.parametrize("model", PENALTIES[:3], ids=lambda model: model().method)
    def test_gradient_equals_a_finite_difference(self, model):
        engine = of_transformers()
        engine.model.double()
        weight = getattr(engine.sites[0].attention, "query" if model is DisagreementPositionArm else "value").weight
        engine.term(model(weight=2)).backward()
        step = 1e-6
        for row, column in ((0, 0), (5, 3), (15, 9)):
            near = []
            for sign in (1, -1):
                with torch.no_grad():
                    weight[row, column] += sign * step
                    near.append(engine.term(model(weight=2)).item())
                    weight[row, column] -= sign * step
            difference = (near[0] - near[1]) / (2 * step)
            assert weight.grad[row, column].item() == pytest.approx(difference, rel=1e-5, abs=1e-9)
            assert abs(difference) > 1e-6

    @every_penalty
    def test_single_heads_alone_are_refused(self, model):
        sites = plain_sites(heads=1)
        message = f"{model().method}: no site of E1, A has 2 heads or more"
        with pytest.raises(HeadroomError, match=message):
            regulariser(model(sites=("E1", "A")), sites, None, seed=1, batch_first=True)
