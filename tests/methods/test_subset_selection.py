"""Exactly K: every K, ties, limits of the temperature, gradients."""

import pytest
import torch
from headroom.methods.subset_selection import (
    COLDEST,
    HOTTEST,
    gumbel,
    soft_top_k,
    straight_through,
    temperature,
    top_k,
)

SCORES = torch.tensor([0.3, -1.0, 2.0, 0.3, 0.0, 0.3, -1.0])


class TestTopK:
    @pytest.mark.parametrize("scores", [SCORES, torch.zeros(7)], ids=["some ties", "all tied"])
    @pytest.mark.parametrize("k", range(8))
    def test_exactly_k_whatever_the_ties(self, scores, k):
        gates = top_k(scores, k)
        assert gates.sum() == k
        assert set(gates.tolist()) <= {0.0, 1.0}

    def test_of_equal_scores_the_first(self):
        assert top_k(SCORES, 3).tolist() == [1, 0, 1, 1, 0, 0, 0]

    @pytest.mark.parametrize("k", [-1, 8])
    def test_k_out_of_range(self, k):
        with pytest.raises(ValueError, match=f"cannot keep {k} of 7 heads"):
            top_k(SCORES, k)


class TestSoftTopK:
    @pytest.mark.parametrize("k", range(8))
    @pytest.mark.parametrize("heat", [HOTTEST, COLDEST, 1e-3])
    def test_they_add_up_to_k(self, k, heat):
        assert float(soft_top_k(SCORES, k, heat).sum()) == pytest.approx(k, abs=1e-5)

    def test_by_hand(self):
        # p1 = softmax(log 1, log 3) = (1/4, 3/4); r <- r + log(1 - p1) makes the odds 3/4 : 3/4; p2 = (1/2, 1/2)
        gates = soft_top_k(torch.tensor([0.0, torch.log(torch.tensor(3.0))]), 2, 1.0)
        assert gates.tolist() == pytest.approx([0.75, 1.25])

    @pytest.mark.parametrize("k", range(1, 7))
    def test_cold_they_are_the_k_largest(self, k):
        distinct = torch.tensor([0.3, -1.0, 2.0, 0.5, 0.0, 0.4, -1.2])
        assert soft_top_k(distinct, k, 1e-8).tolist() == pytest.approx(top_k(distinct, k).tolist(), abs=1e-6)

    @pytest.mark.parametrize("heat", [HOTTEST, 1e-4, 1e-8])
    def test_gradients_stay_finite(self, heat):
        scores = SCORES.clone().requires_grad_(True)
        (found,) = torch.autograd.grad((soft_top_k(scores, 3, heat) * torch.arange(7.0)).sum(), scores)
        assert torch.isfinite(found).all()


def test_straight_through_is_hard_forward_and_soft_backward():
    scores = torch.tensor([0.1, 0.4, -0.2], requires_grad=True)
    weights = torch.tensor([1.0, -2.0, 3.0])
    gates = straight_through(scores, 1, 0.5)
    assert gates.tolist() == [0, 1, 0]
    (found,) = torch.autograd.grad((gates * weights).sum(), scores)
    (soft,) = torch.autograd.grad((soft_top_k(scores, 1, 0.5) * weights).sum(), scores)
    assert torch.equal(found, soft)
    assert soft.abs().sum() > 0.1


def test_the_temperature_falls_log_linearly():
    assert temperature(0.0) == pytest.approx(HOTTEST)
    assert temperature(1.0) == pytest.approx(COLDEST)
    assert temperature(0.5) == pytest.approx((HOTTEST * COLDEST) ** 0.5)


def test_gumbel_noise_has_the_right_mean():
    drawn = gumbel(torch.rand(200_000, generator=torch.Generator().manual_seed(0)))
    assert float(drawn.mean()) == pytest.approx(0.5772, abs=0.01)  # Euler's constant
    assert torch.isfinite(gumbel(torch.tensor([0.0, 1.0]))).all()
