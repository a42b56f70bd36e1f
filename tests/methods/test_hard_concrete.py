"""Hard-concrete gates: hand-worked probabilities, densities, and the gradient of the expected penalty."""

import math

import pytest
import torch
from headroom.methods import hard_concrete


def gates(*values):
    return torch.tensor(values, dtype=torch.float64)


class TestProbabilities:
    def test_by_hand_at_log_alpha_zero(self):
        # P(g = 0) = sigmoid(0.33 * log((0 - -0.1) / (1.1 - 0))) = sigmoid(0.33 * log(1 / 11)) = 1 / (1 + 11 ** 0.33)
        assert float(hard_concrete.closed(gates(0.0))) == pytest.approx(0.311889, abs=1e-6)
        assert float(hard_concrete.opened(gates(0.0))) == pytest.approx(0.311889, abs=1e-6)

    def test_by_hand_away_from_zero(self):
        # sigmoid(-0.791305 - 2) and 1 - sigmoid(0.791305 - 2)
        assert float(hard_concrete.closed(gates(2.0))) == pytest.approx(1 / (1 + math.exp(2.791305)), abs=1e-6)
        assert float(hard_concrete.opened(gates(2.0))) == pytest.approx(1 / (1 + math.exp(-1.208695)), abs=1e-6)

    def test_the_penalty_adds_up_what_is_not_closed(self):
        expected = (1 - 0.311889) + (1 - 1 / (1 + math.exp(2.791305)))
        assert float(hard_concrete.expected_open(gates(0.0, 2.0))) == pytest.approx(expected, abs=1e-6)

    def test_samples_fall_where_the_probabilities_say(self):
        uniform = torch.rand(200_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        for log_alpha in (-1.0, 0.0, 1.5):
            located = torch.full_like(uniform, log_alpha)
            drawn = hard_concrete.sample(located, uniform)
            for value, probability in ((0, hard_concrete.closed), (1, hard_concrete.opened)):
                share = float((drawn == value).double().mean())
                assert share == pytest.approx(float(probability(gates(log_alpha))), abs=0.005)


class TestDensity:
    def density(self, x, log_alpha, step=1e-6):
        above, below = (hard_concrete.cumulative(x + shift, gates(log_alpha)) for shift in (step, -step))
        return float(above - below) / (2 * step)

    def test_by_hand_in_the_middle(self):
        # at the middle of the stretched interval the binary concrete density is the temperature: 0.33 / 1.2
        assert self.density(0.5, 0.0) == pytest.approx(0.275, rel=1e-6)

    @pytest.mark.parametrize("x", [0.05, 0.3, 0.9])
    def test_the_formula_of_louizos(self, x):
        log_alpha, temperature = 0.7, 0.33
        alpha, s = math.exp(log_alpha), (x + 0.1) / 1.2
        above = temperature * alpha * (s * (1 - s)) ** (-temperature - 1)
        below = (alpha * s**-temperature + (1 - s) ** -temperature) ** 2
        assert self.density(x, log_alpha) == pytest.approx(above / below / 1.2, rel=1e-5)


class TestGradients:
    def test_of_the_expected_penalty_equal_numeric_ones(self):
        located = gates(-3.0, -0.5, 0.0, 1.0, 4.0).requires_grad_(True)
        (found,) = torch.autograd.grad(hard_concrete.expected_open(located), located)
        for index in range(5):
            step = torch.zeros(5, dtype=torch.float64)
            step[index] = 1e-6
            change = hard_concrete.expected_open(located + step) - hard_concrete.expected_open(located - step)
            assert float(found[index]) == pytest.approx(float(change.detach()) / 2e-6, rel=1e-6)

    def test_of_a_sample_between_zero_and_one(self):
        located = gates(0.2).requires_grad_(True)
        (found,) = torch.autograd.grad(hard_concrete.sample(located, gates(0.45)).sum(), located)
        above, below = (hard_concrete.sample(gates(0.2 + shift), gates(0.45)) for shift in (1e-6, -1e-6))
        assert 0 < float(above) < 1
        assert float(found) == pytest.approx(float(above - below) / 2e-6, rel=1e-6)


def test_settled_gates_by_hand():
    # sigmoid(0) * 1.2 - 0.1 = 0.5; far from zero the clip holds
    assert hard_concrete.settled(gates(0.0, 20.0, -20.0)).tolist() == pytest.approx([0.5, 1.0, 0.0])


def test_extreme_uniform_numbers_stay_finite():
    assert torch.isfinite(hard_concrete.sample(gates(0.0, 0.0), gates(0.0, 1.0))).all()
