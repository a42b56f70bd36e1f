"""Sources of gates: hard-concrete distributions, exactly K, learned scores, kept heads, and gates of sites."""

import math

import pytest
import torch
from headroom.core.heads import Head, Site, all_heads
from headroom.methods.learned_gates import (
    COLDEST,
    HOTTEST,
    ExactGates,
    FixedGates,
    HardConcreteGates,
    find_profile,
    gumbel,
    hard_top_k,
    soft_top_k,
    temperature,
    top_k,
)

SITES = [Site("E", 1, 2), Site("A", 1, 2), Site("D", 1, 2)]
SCORES = torch.tensor([0.3, -1.0, 2.0, 0.3, 0.0, 0.3, -1.0])


def located(*log_alpha):
    """Return hard-concrete gates with these locations, in float64."""
    gates = HardConcreteGates(heads=len(log_alpha), strength=0.1, seed=1)
    gates.log_alpha = torch.tensor(log_alpha, dtype=torch.float64, requires_grad=True)
    return gates


class TestHardConcreteDistribution:
    def test_probabilities_by_hand(self):
        # P(g = 0) = sigmoid(0.33 * log((0 - -0.1) / (1.1 - 0))) = sigmoid(0.33 * log(1 / 11)) = 1 / (1 + 11 ** 0.33)
        # and at 2: sigmoid(-0.791305 - 2) and 1 - sigmoid(0.791305 - 2)
        gates = located(0.0, 2.0)
        closed = [0.311889, 1 / (1 + math.exp(2.791305))]
        assert gates.closed().tolist() == pytest.approx(closed, abs=1e-6)
        assert gates.opened().tolist() == pytest.approx([0.311889, 1 / (1 + math.exp(-1.208695))], abs=1e-6)
        assert gates.expected_open().item() == pytest.approx(2 - sum(closed), abs=1e-6)

    @pytest.mark.parametrize("log_alpha", [-1.0, 0.0, 1.5])
    def test_samples_fall_where_the_probabilities_say(self, log_alpha):
        gates = located(log_alpha)
        uniform = torch.rand(200_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        drawn = gates.sample(uniform)
        for value, probability in ((0, gates.closed()), (1, gates.opened())):
            assert float((drawn == value).double().mean()) == pytest.approx(float(probability), abs=0.005)

    def density(self, x, log_alpha, step=1e-6):
        above, below = (located(log_alpha).cumulative(x + shift) for shift in (step, -step))
        return float(above - below) / (2 * step)

    @pytest.mark.parametrize("place", [-3.0, -0.5, 0.0, 1.0, 4.0])
    def test_the_gradient_of_the_penalty_is_the_numeric_one(self, place):
        gates = located(place)
        (found,) = torch.autograd.grad(gates.expected_open(), gates.log_alpha)
        above, below = (float(located(place + shift).expected_open()) for shift in (1e-6, -1e-6))
        assert float(found) == pytest.approx((above - below) / 2e-6, rel=1e-6)

    def test_the_gradient_of_a_sample_is_the_numeric_one(self):
        gates, uniform = located(0.2), torch.tensor([0.45], dtype=torch.float64)
        (found,) = torch.autograd.grad(gates.sample(uniform).sum(), gates.log_alpha)
        above, below = (float(located(0.2 + shift).sample(uniform)) for shift in (1e-6, -1e-6))
        assert 0 < above < 1
        assert float(found) == pytest.approx((above - below) / 2e-6, rel=1e-6)

    def test_soft_gates_by_hand(self):
        # sigmoid(0) * 1.2 - 0.1 = 0.5; far from zero the clip holds
        assert located(0.0, 20.0, -20.0).soft().tolist() == pytest.approx([0.5, 1.0, 0.0])


class TestHardConcreteGates:
    def test_they_start_almost_surely_open(self):
        gates = HardConcreteGates(heads=50, strength=0.1, seed=1)
        assert float(gates.draw(0.0).detach().mean()) > 0.9
        assert gates.kept().sum() == 50

    def test_they_are_drawn_for_every_batch_and_alike_for_equal_seeds(self):
        one, other = (HardConcreteGates(heads=50, strength=0.1, seed=3) for _ in range(2))
        first, second = one.draw(0.0), one.draw(0.0)
        assert not torch.equal(first, second)
        assert torch.equal(first, other.draw(0.0))

    def test_zero_or_one_whichever_is_likelier(self):
        gates = located(-5.0, -0.01, 0.01, 5.0)
        assert gates.kept().tolist() == [0, 0, 1, 1]
        assert gates.undecided() == 2


class TestTopK:
    @pytest.mark.parametrize("scores", [SCORES, torch.zeros(7)], ids=["some ties", "all tied"])
    @pytest.mark.parametrize("k", range(8))
    def test_exactly_k_whatever_the_ties(self, scores, k):
        gates = top_k(scores, k)
        assert gates.sum() == k
        assert set(gates.tolist()) <= {0.0, 1.0}

    @pytest.mark.parametrize("k", range(8))
    @pytest.mark.parametrize("heat", [HOTTEST, COLDEST, 1e-3])
    def test_soft_ones_add_up_to_k(self, k, heat):
        assert float(soft_top_k(SCORES, k, heat).sum()) == pytest.approx(k, abs=1e-5)

    def test_soft_ones_by_hand(self):
        # p1 = softmax(log 1, log 3) = (1/4, 3/4); r <- r + log(1 - p1) makes the odds 3/4 : 3/4; p2 = (1/2, 1/2)
        gates = soft_top_k(torch.tensor([0.0, torch.log(torch.tensor(3.0))]), 2, 1.0)
        assert gates.tolist() == pytest.approx([0.75, 1.25])

    @pytest.mark.parametrize("k", range(1, 7))
    def test_cold_soft_ones_are_the_k_largest(self, k):
        distinct = torch.tensor([0.3, -1.0, 2.0, 0.5, 0.0, 0.4, -1.2])
        assert soft_top_k(distinct, k, 1e-8).tolist() == pytest.approx(top_k(distinct, k).tolist(), abs=1e-6)

    def test_straight_through_is_hard_forward_and_soft_backward(self):
        scores = torch.tensor([0.1, 0.4, -0.2], requires_grad=True)
        weights = torch.tensor([1.0, -2.0, 3.0])
        gates = hard_top_k(scores, 1, 0.5)
        assert gates.tolist() == [0, 1, 0]
        (found,) = torch.autograd.grad((gates * weights).sum(), scores)
        (soft,) = torch.autograd.grad((soft_top_k(scores, 1, 0.5) * weights).sum(), scores)
        assert torch.equal(found, soft)
        assert soft.abs().sum() > 0.1


class TestExactGates:
    @pytest.mark.parametrize("straight_through", [False, True])
    @pytest.mark.parametrize("k", range(7))
    def test_exactly_k(self, k, straight_through):
        gates = ExactGates(heads=6, k=k, straight_through=straight_through, seed=1)
        assert gates.kept().sum() == k
        for progress in (0.0, 0.3, 0.99, 1.0):
            assert float(gates.draw(progress).detach().sum()) == pytest.approx(k, abs=1e-4)

    def test_the_temperature_falls_log_linearly(self):
        expected = [HOTTEST, (HOTTEST * COLDEST) ** 0.5, COLDEST]
        assert [temperature(progress) for progress in (0.0, 0.5, 1.0)] == pytest.approx(expected)

    def test_gumbel_noise_has_the_right_mean(self):
        drawn = gumbel(torch.rand(200_000, generator=torch.Generator().manual_seed(0)))
        assert float(drawn.mean()) == pytest.approx(0.5772, abs=0.01)  # Euler's constant
        assert torch.isfinite(gumbel(torch.tensor([0.0, 1.0]))).all()


WORTH = torch.tensor([0.02, 0.5, 0.01, 0.9, 0.4, 0.03, 0.6, 0.01])
"""The reduction of the loss by each of eight open gates."""


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


def test_a_profile_and_its_gates():
    heads = all_heads(SITES)
    removed = frozenset({Head("A", 1, 2), Head("E", 1, 1)})
    gates = FixedGates(removed, heads)
    assert gates.kept().tolist() == [0, 1, 1, 0, 1, 1]
    assert find_profile(gates.kept(), heads) == removed
    assert gates.parameters() == []
