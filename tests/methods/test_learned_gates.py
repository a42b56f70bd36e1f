"""Sources of gates: how they start, what they keep, what they refuse."""

import pytest
import torch
from headroom.core.heads import Head, Site, all_heads
from headroom.methods.learned_gates import (
    COOLING,
    ExactGates,
    HardConcreteGates,
    by_site,
    fixed,
    profile_of,
)

SITES = [Site("E", 1, 2), Site("A", 1, 2), Site("D", 1, 2)]


class TestHardConcreteGates:
    def test_they_start_almost_surely_open(self):
        gates = HardConcreteGates(heads=50, strength=0.1, seed=1)
        assert float(gates.draw(0.0).detach().mean()) > 0.9
        assert gates.kept().sum() == 50

    def test_they_are_drawn_anew_for_every_batch_and_alike_for_equal_seeds(self):
        one, other = (HardConcreteGates(heads=50, strength=0.1, seed=3) for _ in range(2))
        first, second = one.draw(0.0), one.draw(0.0)
        assert not torch.equal(first, second)
        assert torch.equal(first, other.draw(0.0))

    def test_zero_or_one_whichever_is_likelier(self):
        gates = HardConcreteGates(heads=4, strength=0.1, seed=1)
        gates.log_alpha = torch.tensor([-5.0, -0.01, 0.01, 5.0])
        assert gates.kept().tolist() == [0, 0, 1, 1]
        assert gates.undecided() == 2

    def test_the_penalty_is_lambda_times_the_open_gates(self):
        gates = HardConcreteGates(heads=3, strength=0.5, seed=1)
        gates.log_alpha = torch.tensor([-30.0, 30.0, 30.0])
        assert float(gates.penalty()) == pytest.approx(1.0)

    @pytest.mark.parametrize("strength", [0.0, -0.1])
    def test_lambda_must_be_positive(self, strength):
        with pytest.raises(ValueError, match="lambda must be above 0"):
            HardConcreteGates(heads=3, strength=strength, seed=1)


class TestExactGates:
    @pytest.mark.parametrize("straight_through", [False, True])
    @pytest.mark.parametrize("k", range(7))
    def test_exactly_k(self, k, straight_through):
        gates = ExactGates(heads=6, k=k, straight_through=straight_through, seed=1)
        assert gates.kept().sum() == k
        for progress in (0.0, 0.3, COOLING, 1.0):
            assert float(gates.draw(progress).detach().sum()) == pytest.approx(k, abs=1e-4)

    def test_once_cold_the_largest_scores_stay(self):
        gates = ExactGates(heads=3, k=1, straight_through=False, seed=1)
        gates.scores = torch.tensor([0.0, 2.0, 1.0])
        assert gates.draw(COOLING).tolist() == [0, 1, 0]

    @pytest.mark.parametrize("k", [-1, 7])
    def test_k_out_of_range(self, k):
        with pytest.raises(ValueError, match=f"cannot keep {k} of 6 heads"):
            ExactGates(heads=6, k=k, straight_through=False, seed=1)


WORTH = torch.tensor([0.02, 0.5, 0.01, 0.9, 0.4, 0.03, 0.6, 0.01])
"""What each of eight gates takes off the loss when it is open."""


def learn(source, updates):
    optimizer = torch.optim.Adam(source.parameters(), lr=0.1)
    for update in range(updates):
        optimizer.zero_grad()
        loss = (WORTH * (1 - source.draw(update / updates))).sum() + source.penalty()
        if loss.requires_grad:
            loss.backward()
            optimizer.step()
    return source


@pytest.mark.parametrize("straight_through", [False, True])
def test_exact_gates_learn_which_are_worth_most(straight_through):
    gates = learn(ExactGates(heads=8, k=3, straight_through=straight_through, seed=1), 300)
    assert gates.kept().tolist() == [0, 1, 0, 1, 0, 0, 1, 0]


def test_hard_concrete_gates_that_are_worth_more_than_lambda_stay_open():
    gates = learn(HardConcreteGates(heads=8, strength=0.15, seed=1), 600)
    assert gates.kept().tolist() == [0, 1, 0, 1, 1, 0, 1, 0]
    assert gates.undecided() == 0


def test_gates_go_to_their_sites():
    heads = all_heads(SITES, "all")
    gates = by_site(torch.arange(6.0), heads, SITES)
    assert {str(site): gate.tolist() for site, gate in gates.items()} == {"E1": [0, 1], "A1": [2, 3], "D1": [4, 5]}


def test_sites_out_of_scope_get_none():
    heads = all_heads(SITES, "E")
    assert list(map(str, by_site(torch.ones(2), heads, SITES))) == ["E1"]


def test_a_profile_and_its_gates():
    heads = all_heads(SITES, "all")
    removed = frozenset({Head("A", 1, 2), Head("E", 1, 1)})
    gates = fixed(removed, heads)
    assert gates.draw(0.5).tolist() == [0, 1, 1, 0, 1, 1]
    assert profile_of(gates.kept(), heads) == removed
    assert gates.parameters() == []
