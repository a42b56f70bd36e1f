"""Further training with gates: trained and frozen weights, the effect of the penalty, one training per setting."""

from itertools import pairwise

import pytest
import torch
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.engines.fairseq.model import TranslationModel
from headroom.experiments.gates.settings import GateSettings, GateTrainingSettings
from headroom.methods import continued_training
from headroom.methods.continued_training import continue_training, controls, list_learned
from headroom.methods.learned_gates import ExactGates, FixedGates, HardConcreteGates, find_profile


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
    encoder, decoder = weights(lively.model.encoder), weights(lively.model.decoder)
    train(lively, texts, no_gates, scope="E")
    assert changed(lively.model.decoder, decoder) == set()
    assert {name for name in changed(lively.model.encoder, encoder) if "layers.0" in name}


def test_equal_seeds_give_equal_bits(toy, lively_checkpoint, texts):
    ends = []
    for _ in range(2):
        model = loaded(toy, lively_checkpoint)
        train(model, texts, lambda heads: HardConcreteGates(heads=heads, strength=0.1, seed=1))
        ends.append(weights(model.model))
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_a_large_penalty_closes_every_gate_and_a_small_one_few(toy, lively_checkpoint, texts):
    for strength, least, most in ((10.0, 0, 0), (1e-9, 13, 24)):
        model = loaded(toy, lively_checkpoint)
        source = HardConcreteGates(heads=24, strength=strength, seed=1)
        train(model, texts, lambda _, source=source: source, gate_updates=30, learning_rate=1e-4)
        assert least <= int(source.kept().sum()) <= most


def test_a_head_that_is_gone_from_the_start_stays_unused(lively, texts):
    """Its weights get no gradient: neither its rows of the value projection nor its columns of the output."""
    removed = parse_profile("E1:2", lively.sites)
    site = lively.live_sites[0]
    rows = site.value.weight[4:8].clone()
    train(lively, texts, lambda _: FixedGates(removed, all_heads(lively.sites)))
    assert torch.equal(site.value.weight[4:8], rows)


SOURCES = {
    "hard-concrete": lambda heads: HardConcreteGates(heads=heads, strength=0.1, seed=1),
    "exact": lambda heads: ExactGates(heads=heads, k=6, straight_through=False, seed=1),
    "exact-straight-through": lambda heads: ExactGates(heads=heads, k=6, straight_through=True, seed=1),
    "no head": lambda heads: ExactGates(heads=heads, k=0, straight_through=False, seed=1),
    "fixed": no_gates,
}


@pytest.mark.parametrize(("name", "alone"), zip(SOURCES, (0, 4, 4, 4, 0)))
def test_the_weights_have_the_same_number_of_updates_under_all_gates(lively, texts, monkeypatch, name, alone):
    states, step = [], continued_training._step
    monkeypatch.setattr(
        continued_training, "_step", lambda *given: states.append(weights(lively.model)) or step(*given)
    )
    train(lively, texts, lambda _: SOURCES[name](24), gate_updates=4, updates=6)
    states.append(weights(lively.model))
    moved = [any(not torch.equal(a[key], b[key]) for key in a) for a, b in pairwise(states)]
    assert moved == [False] * alone + [True] * 10


@pytest.mark.parametrize("name", list(SOURCES)[:3])
def test_gates_are_learned_in_the_first_updates_and_then_fixed(lively, texts, monkeypatch, name):
    source, used, calls, step = SOURCES[name](24), [], [], continued_training._step
    (learned,) = source.parameters()

    def watched(model, batch, gates, *others):
        used.append((torch.cat(list(gates.values())), learned.detach().clone()))
        return step(model, batch, gates, *others)

    monkeypatch.setattr(continued_training, "_step", watched)
    train(lively, texts, lambda _: source, when_learned=lambda: calls.append((len(used), lively.model.training)))
    assert calls == [(12, False)]
    assert all(gates.requires_grad for gates, _ in used[:12])
    assert not any(gates.requires_grad for gates, _ in used[12:])
    assert all(not torch.equal(a, b) for (_, a), (_, b) in pairwise(used[:13]))
    assert all(torch.equal(values, used[12][1]) for _, values in used[12:])
    assert all(torch.equal(gates, source.kept()) for gates, _ in used[12:])


def test_fixed_gates_are_never_learned(lively, texts):
    calls = []
    train(lively, texts, no_gates, when_learned=lambda: calls.append(1))
    assert not calls


def test_exact_gates_train_the_weights_as_the_control_with_the_same_heads_does(toy, lively_checkpoint, texts):
    """The updates of the gates before leave no trace: not in the weights, Adam's moments, batches or dropout."""
    source = SOURCES["exact"](24)
    selected, control = (loaded(toy, lively_checkpoint) for _ in range(2))
    _, heads = train(selected, texts, lambda _: source)
    assert source.scores.any()
    train(control, texts, lambda _: FixedGates(find_profile(source.kept(), heads), heads))
    assert not changed(selected.model, weights(control.model))


def loaded(toy, checkpoint):
    return TranslationModel.load(checkpoint, toy.data, "cpu")


HEADS = [Head("E", layer, head) for layer in range(1, 5) for head in range(1, 5)]
SETTINGS = GateSettings(penalties=(0.5, 0.25), kept_shares=(0.25, 1.0), random_draws=2)


def test_one_per_share_with_exactly_so_many_heads():
    for method in ("exact", "exact-straight-through"):
        plans = list(list_learned(method, SETTINGS, 16, seed=1))
        found = [(plan.setting, plan.name, int(plan.source.kept().sum())) for plan in plans]
        assert found == [(4, "0.25", 4), (16, "1", 16)]


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
