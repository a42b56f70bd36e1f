"""Sweeps: one further training per lambda, per K, per control."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.methods.learned_gates import controls, learned, profile_of
from headroom.settings.experiments import GateSettings

HEADS = [Head("E", layer, head) for layer in range(1, 5) for head in range(1, 5)]
SETTINGS = GateSettings(penalties=(0.5, 0.25), kept_shares=(0.25, 1.0), random_draws=2)


def test_one_per_lambda():
    plans = list(learned("hard-concrete", SETTINGS, 16, seed=1))
    assert [(plan.setting, plan.name) for plan in plans] == [(0.5, "0.5"), (0.25, "0.25")]
    strong, weak = (float(plan.source.penalty().detach()) for plan in plans)
    assert strong == 2 * weak > 0


def test_one_per_share_with_exactly_so_many_heads():
    for method in ("exact", "exact-straight-through"):
        plans = list(learned(method, SETTINGS, 16, seed=1))
        found = [(plan.setting, plan.name, int(plan.source.kept().sum())) for plan in plans]
        assert found == [(4, "0.25", 4), (16, "1", 16)]


def test_numbers_of_heads_besides_shares():
    settings = GateSettings(kept_shares=(0.5,), kept_heads=(0, 5, 16))
    plans = list(learned("exact", settings, 16, seed=1))
    assert [(plan.name, int(plan.source.kept().sum())) for plan in plans] == [
        *(("0.5", 8), ("0-heads", 0), ("5-heads", 5), ("16-heads", 16)),
    ]
    with pytest.raises(HeadroomError, match="--kept-heads 16: there are 15 heads in scope"):
        list(learned("exact", settings, 15, seed=1))


def test_controls_keep_all_the_best_and_random_ones():
    scores = {head: float(place) for place, head in enumerate(HEADS)}
    plans = list(controls(SETTINGS, HEADS, scores, seed=1))
    assert [(plan.method, plan.setting, plan.draw) for plan in plans] == [
        ("continued", 16, 0),
        *(("gradient", 4, 0), ("random", 4, 1), ("random", 4, 2)),
        *(("gradient", 16, 0), ("random", 16, 1), ("random", 16, 2)),
    ]
    gone = [profile_of(plan.source.kept(), HEADS) for plan in plans]
    assert gone[1] == frozenset(HEADS[:12])
    assert len(gone[2]) == len(gone[3]) == 12
    assert gone[2] != gone[3]
    other = list(controls(SETTINGS, HEADS, scores, seed=2))
    assert gone[2] != profile_of(other[2].source.kept(), HEADS)
