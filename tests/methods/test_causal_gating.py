"""Causal head gating: planted roles, and the updates worked out in a slow loop."""

import math

import pytest
import torch
from headroom.core.heads import Head
from headroom.methods.criteria.causal_gating import causal_gates, causal_gating_scores
from oracles import GameModel, heads_of, numbers
from planted import HARMFUL, HELPFUL, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score

ONE, TWO, THREE, FOUR = (Head("E", layer, head) for layer in (1, 2) for head in (1, 2))


def game(gates, number):
    """Head one helps, two harms, the other two are ignored."""
    return 5 - 2 * gates[:, 0] + 2 * gates[:, 1] ** 2 + 0 * number


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def slowly(start, updates, strength, slopes):
    """Return theta by Adam's formula (rate 1, betas 0.9 and 0.999) on a gradient that is clipped to norm 1."""
    theta = list(start)
    first, second = [0.0] * len(theta), [0.0] * len(theta)
    for update in range(1, updates + 1):
        gates = [sigmoid(value) for value in theta]
        gradient = [
            slope * gate * (1 - gate) - (strength / len(theta) if abs(value) <= 4 else 0)
            for slope, gate, value in zip(slopes(gates), gates, theta)
        ]
        norm = math.sqrt(sum(part**2 for part in gradient))
        gradient = [part * min(1.0, 1 / (norm + 1e-6)) for part in gradient]
        for place, part in enumerate(gradient):
            first[place] = 0.9 * first[place] + 0.1 * part
            second[place] = 0.999 * second[place] + 0.001 * part**2
            size = math.sqrt(second[place] / (1 - 0.999**update)) + 1e-8
            theta[place] -= first[place] / (1 - 0.9**update) / size
    return theta


class TestUpdates:
    def test_three_fits_equal_a_slow_loop(self):
        """L = 5 - 2 a + 2 b^2: slopes -2 and 4 b; the fits with +lambda and -lambda start from the one with 0."""

        def slopes(gates):
            return [-2, 4 * gates[1], 0, 0]

        start = torch.rand(4, generator=torch.Generator().manual_seed(7)).logit().tolist()
        free = slowly(start, 6, 0.0, slopes)
        found = causal_gates(GameModel(game), numbers(3), updates=6, seed=7, strength=0.1)
        for sign, name in ((1, "opened"), (-1, "closed")):
            expected = [sigmoid(value) for value in slowly(free, 6, sign * 0.1, slopes)]
            assert [getattr(gates, name) for gates in found.values()] == pytest.approx(expected, rel=1e-3)

    def test_the_loss_is_per_target_and_every_batch_is_used_equally(self):
        model, seen = GameModel(game), []

        def losses(batch):
            seen.append(batch.positions[0])
            nats, targets = GameModel.losses(model, batch)
            return 7 * nats, 7 * targets  # the same mean

        expected = causal_gates(GameModel(game), numbers(2, 2), updates=4)
        model.losses = losses
        found = causal_gates(model, numbers(2, 2), updates=4)
        assert sorted(seen) == [0] * 6 + [2] * 6
        for head in heads_of(model):
            assert found[head].opened == pytest.approx(expected[head].opened, rel=1e-4)

    def test_the_seed_determines_them(self):
        one, again, other = (causal_gates(GameModel(game), numbers(2, 2), updates=3, seed=seed) for seed in (1, 1, 2))
        assert one == again != other


def of_role(found, role):
    """Return the heads of a role: that of the largest of G-, G+ (1 - G-) and 1 - G+, by the paper."""
    sizes = {
        head: {
            "facilitating": gates.closed,
            "irrelevant": gates.opened * (1 - gates.closed),
            "interfering": 1 - gates.opened,
        }
        for head, gates in found.items()
    }
    return {head for head, of_head in sizes.items() if max(of_head, key=of_head.get) == role}


class TestRoles:
    def test_of_a_game(self):
        found = causal_gates(GameModel(game), numbers(4, 4), updates=30)
        roles = ("facilitating", "interfering", "irrelevant")
        assert [of_role(found, role) for role in roles] == [{ONE}, {TWO}, {THREE, FOUR}]

    def test_of_planted_heads(self, tmp_path):
        model = planted_classifier(tmp_path / "model")
        batches = model.batches(marked_text(), examples=12)
        found = causal_gates(model, batches, updates=40)
        assert of_role(found, "facilitating") == HELPFUL
        assert of_role(found, "interfering") == HARMFUL
        scores = causal_gating_scores(model, batches, updates=40)["causal-gating"]
        assert scores == {head: pytest.approx((gates.opened + gates.closed) / 2) for head, gates in found.items()}
        assert roc_auc_score([head in HELPFUL for head in scores], list(scores.values())) == 1
