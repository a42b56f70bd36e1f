"""Gates that are learned by hard-concrete distributions, fixed ones, and the further training with them."""

import math
from itertools import pairwise

import pytest
import torch
from headroom.core.heads import Head, Site, all_heads
from headroom.experiments.gates.declared import GateSettings, GateTrainingSettings
from headroom.methods import continued_training
from headroom.methods.continued_training import continue_training, controls
from headroom.methods.learned_gates import FixedGates, HardConcreteGates, find_profile
from headroom.models.seq2seq.model import Seq2SeqModel

SITES = [Site("E", 1, 2), Site("A", 1, 2), Site("D", 1, 2)]


def located(*log_alpha):
    """Return hard-concrete gates with these locations, in float64."""
    gates = HardConcreteGates(heads=len(log_alpha), strength=0.1, seed=1)
    gates.log_alpha = torch.tensor(log_alpha, dtype=torch.float64, requires_grad=True)
    return gates


class TestHardConcreteGates:
    def test_probabilities_by_hand(self):
        # P(g = 0) = sigmoid(0.33 * log((0 - -0.1) / (1.1 - 0))) = sigmoid(0.33 * log(1 / 11)) = 1 / (1 + 11 ** 0.33)
        # and at 2: sigmoid(-0.791305 - 2) and 1 - sigmoid(0.791305 - 2)
        gates = located(0.0, 2.0)
        closed = [0.311889, 1 / (1 + math.exp(2.791305))]
        assert gates.closed().tolist() == pytest.approx(closed, abs=1e-6)
        assert gates.opened().tolist() == pytest.approx([0.311889, 1 / (1 + math.exp(-1.208695))], abs=1e-6)
        assert gates.expected_open().item() == pytest.approx(2 - sum(closed), abs=1e-6)

    def test_samples_fall_where_the_probabilities_say(self):
        uniform = torch.rand(200_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        for log_alpha in (-1.0, 0.0, 1.5):
            gates = located(log_alpha)
            drawn = gates.sample(uniform)
            for value, probability in ((0, gates.closed()), (1, gates.opened())):
                assert float((drawn == value).double().mean()) == pytest.approx(probability.item(), abs=0.005)

    def test_the_gradient_of_the_penalty_is_the_numeric_one(self):
        for place in (-3.0, -0.5, 0.0, 1.0, 4.0):
            gates = located(place)
            (found,) = torch.autograd.grad(gates.expected_open(), gates.log_alpha)
            above, below = (located(place + shift).expected_open().item() for shift in (1e-6, -1e-6))
            assert float(found) == pytest.approx((above - below) / 2e-6, rel=1e-6)

    def test_the_gradient_of_a_sample_is_the_numeric_one(self):
        gates, uniform = located(0.2), torch.tensor([0.45], dtype=torch.float64)
        (found,) = torch.autograd.grad(gates.sample(uniform).sum(), gates.log_alpha)
        above, below = (located(0.2 + shift).sample(uniform).item() for shift in (1e-6, -1e-6))
        assert 0 < above < 1
        assert float(found) == pytest.approx((above - below) / 2e-6, rel=1e-6)

    def test_soft_gates_by_hand(self):
        # sigmoid(0) * 1.2 - 0.1 = 0.5; far from zero the clip holds
        assert located(0.0, 20.0, -20.0).soft().tolist() == pytest.approx([0.5, 1.0, 0.0])

    def test_they_start_almost_surely_open(self):
        gates = HardConcreteGates(heads=50, strength=0.1, seed=1)
        assert float(gates.draw().detach().mean()) > 0.9
        assert gates.kept().sum() == 50

    def test_they_are_drawn_for_every_batch_and_alike_for_equal_seeds(self):
        one, other = (HardConcreteGates(heads=50, strength=0.1, seed=3) for _ in range(2))
        first, second = one.draw(), one.draw()
        assert not torch.equal(first, second)
        assert torch.equal(first, other.draw())

    def test_zero_or_one_whichever_is_likelier(self):
        gates = located(-5.0, -0.01, 0.01, 5.0)
        assert gates.kept().tolist() == [0, 0, 1, 1]
        assert gates.undecided() == 2


WORTH = torch.tensor([0.02, 0.5, 0.01, 0.9, 0.4, 0.03, 0.6, 0.01])
"""The reduction of the loss by each of eight open gates."""


def learn(source, updates):
    optimizer = torch.optim.Adam(source.parameters(), lr=0.1)
    for _ in range(updates):
        optimizer.zero_grad()
        loss = (WORTH * (1 - source.draw())).sum() + source.penalty()
        if loss.requires_grad:
            loss.backward()
            optimizer.step()
    return source


def test_gates_learn_which_heads_are_worth_most():
    gates = learn(HardConcreteGates(heads=8, strength=0.15, seed=1), 600)  # those worth more than lambda
    assert gates.kept().tolist() == [0, 1, 0, 1, 1, 0, 1, 0]
    assert gates.undecided() == 0


def test_a_profile_and_its_gates():
    heads = all_heads(SITES)
    removed = frozenset({Head("A", 1, 2), Head("E", 1, 1)})
    gates = FixedGates(removed, heads)
    assert gates.kept().tolist() == [0, 1, 1, 0, 1, 1]
    assert find_profile(gates.kept(), heads) == removed
    assert gates.parameters() == []


def train(model, texts, source, *, scope="all", when_learned=lambda: None, **changes):
    usual = {"gate_updates": 12, "updates": 6, "learning_rate": 0.01, "gate_learning_rate": 0.5}
    settings = GateTrainingSettings(**usual | changes)
    batches = model.batches(*texts, sentences=4)
    heads = all_heads(model.sites, scope)
    way = {"heads": heads, "scope": scope, "settings": settings, "seed": 1, "when_learned": when_learned}
    continue_training(model, batches=batches, source=source(len(heads)), **way)
    return batches, heads


def loss(model, batches):
    return sum(float(model.losses(batch)[0].sum()) for batch in batches)


def weights(part):
    return {name: value.clone() for name, value in part.state_dict().items()}


def changed(part, before):
    return {name for name, value in part.state_dict().items() if not torch.equal(value, before[name])}


def no_gates(heads):
    return FixedGates(frozenset(), range(heads))


def test_plain_training_lowers_the_loss_and_leaves_a_plain_model(lively, texts):
    batches = lively.batches(*texts, sentences=4)
    before = loss(lively, batches)
    train(lively, texts, no_gates, gate_updates=0, updates=40)
    assert loss(lively, batches) < 0.8 * before
    assert not lively.model.training
    assert not any(weight.requires_grad for weight in lively.model.parameters())
    with_all = loss(lively, batches)
    with lively.gates.masked(frozenset()):
        assert loss(lively, batches) == with_all


def test_the_decoder_is_frozen_when_the_encoder_alone_has_gates(lively, texts):
    encoder, decoder = weights(lively.model.get_encoder()), weights(lively.model.get_decoder())
    train(lively, texts, no_gates, scope="E")
    assert changed(lively.model.get_decoder(), decoder) == set()
    assert {name for name in changed(lively.model.get_encoder(), encoder) if "layers.0" in name}


def test_a_large_penalty_closes_every_gate_and_a_small_one_few(toy, lively_checkpoint, texts):
    for strength, least, most in ((10.0, 0, 0), (1e-9, 13, 24)):
        model = loaded(toy, lively_checkpoint)
        source = HardConcreteGates(heads=24, strength=strength, seed=1)
        train(model, texts, lambda _, source=source: source, gate_updates=30, learning_rate=1e-4)
        assert least <= int(source.kept().sum()) <= most


SOURCES = {
    "hard-concrete": lambda heads: HardConcreteGates(heads=heads, strength=0.1, seed=1),
    "fixed": no_gates,
}


@pytest.mark.parametrize("name", SOURCES)
def test_weights_have_equally_many_updates_and_gates_are_fixed_in_the_last(lively, texts, monkeypatch, name):
    source, seen, calls, step = SOURCES[name](24), [], [], continued_training._step
    learned = source.parameters()

    def watched(model, batch, gates, *others):
        values = [value.detach().clone() for value in learned]
        seen.append((weights(lively.model), values, torch.cat(list(gates.values()))))
        return step(model, batch, gates, *others)

    monkeypatch.setattr(continued_training, "_step", watched)
    way = {"when_learned": lambda: calls.append((len(seen), lively.model.training))}
    train(lively, texts, lambda _: source, gate_updates=4, updates=6, **way)
    states = [*(state for state, *_ in seen), weights(lively.model)]
    moved = [any(not torch.equal(a[key], b[key]) for key in a) for a, b in pairwise(states)]
    assert moved == [True] * 10
    assert calls == ([(4, False)] if learned else [])
    first = 4 if learned else 0
    assert [gates.requires_grad for *_, gates in seen] == [True] * first + [False] * (len(seen) - first)
    assert all(torch.equal(gates, source.kept()) for *_, gates in seen[first:])
    values = [value for _, own, _ in seen for value in own]
    moved = [not torch.equal(a, b) for a, b in pairwise(values)]
    if learned:
        assert moved == [True] * 4 + [False] * (len(values) - 5)


def loaded(toy, checkpoint):
    return Seq2SeqModel.load(checkpoint, "cpu")


HEADS = [Head("E", layer, head) for layer in range(1, 5) for head in range(1, 5)]
SETTINGS = GateSettings(penalties=(0.5, 0.25), kept_shares=(0.25, 1.0), random_draws=2)


def test_controls_keep_all_the_best_and_random_ones():
    scores = {head: float(place) for place, head in enumerate(HEADS)}
    plans = list(controls(SETTINGS, HEADS, scores, seed=1))
    assert [(plan.method, plan.setting, plan.draw) for plan in plans] == [
        ("continued", 16, 0),
        *(("gradient", 4, 0), ("random", 4, 1), ("random", 4, 2)),
        *(("gradient", 16, 0), ("random", 16, 1), ("random", 16, 2)),
    ]
    gone = [find_profile(plan.source.kept(), HEADS) for plan in plans]
    assert gone[1] == frozenset(HEADS[:12])
    assert len(gone[2]) == len(gone[3]) == 12
    assert gone[2] != gone[3]
    other = list(controls(SETTINGS, HEADS, scores, seed=2))
    assert gone[2] != find_profile(other[2].source.kept(), HEADS)
