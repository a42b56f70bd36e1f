"""Shapley values: games by hand, full enumeration, coverage of the intervals, and truncation."""

import math
from itertools import combinations

import pytest
import torch
from headroom.core.heads import parse_profile
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.methods.criteria.shapley import draw_permutations, shapley_values
from models import toy_text, write_encoder
from oracles import GameModel, heads_of, numbers
from planted import HARMFUL, HELPFUL, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score


def values(found):
    return [estimate.value for estimate in found.values.values()]


def enumerated(loss, heads):
    """Return the exact values by the definition: a weighted sum over all subsets without the head."""
    found = {}
    for head in heads:
        others, total = [other for other in heads if other != head], 0.0
        for size in range(len(heads)):
            weight = math.factorial(size) * math.factorial(len(others) - size) / math.factorial(len(heads))
            for subset in combinations(others, size):
                total += weight * (loss(frozenset(subset)) - loss(frozenset([*subset, head])))
        found[head] = total
    return found


def tangled(gates, _):
    """Interactions of up to four heads, which no pair of permutations gets right."""
    one, two, three, four, five, six = gates.T
    return 2 - one * two * three + 0.7 * four * five * one - 0.5 * six * (1 - two) * (1 - four) + 0.3 * five


def of_subset(game, heads):
    def loss(subset):
        gates = torch.tensor([[float(head in subset) for head in heads]], dtype=torch.float64)
        return float(game(gates, torch.zeros(1)))

    return loss


class TestByHand:
    def test_one_pair_is_exact_for_pairwise_interactions(self):
        """Half of each interaction for either head: L = 5 - 2 a - 3 b c + d."""
        model = GameModel(lambda gates, _: 5 - 2 * gates[:, 0] - 3 * gates[:, 1] * gates[:, 2] + gates[:, 3])
        found = shapley_values(model, numbers(2), permutations=2, tolerance=0)
        assert values(found) == pytest.approx([2, 1.5, 1.5, -1])
        assert (found.full, found.empty) == (1, 5)
        assert all(math.isnan(estimate.low) for estimate in found.values.values())  # one pair has no interval

    def test_an_order_is_followed_by_its_reverse(self):
        orders = draw_permutations(7, 6, seed=1)
        assert torch.equal(orders[1::2], orders[::2].flip(1))
        assert all(sorted(order.tolist()) == list(range(7)) for order in orders)
        assert len({tuple(order) for order in orders.tolist()}) == 6
        with pytest.raises(ValueError, match="3 permutations: not pairs"):
            draw_permutations(7, 3, seed=1)


class TestEnumeration:
    def test_intervals_cover_the_exact_values(self):
        model = GameModel(tangled, heads=(2, 2, 2))
        heads = heads_of(model)
        exact = enumerated(of_subset(tangled, heads), heads)
        runs = [shapley_values(model, numbers(1), permutations=20, tolerance=0, seed=seed) for seed in range(60)]
        covered = [found.values[head].low <= exact[head] <= found.values[head].high for found in runs for head in heads]
        assert 0.90 <= sum(covered) / len(covered) <= 0.99  # of 360 intervals of 95 %
        means = [sum(found.values[head].value for found in runs) / len(runs) for head in heads]
        assert means == pytest.approx(list(exact.values()), abs=0.02)

    def test_of_a_classifier_with_eight_heads(self, tmp_path):
        model = ClassificationModel.load(write_encoder(tmp_path / "model"), "cpu", "eager")
        model.model.double()
        text = toy_text(examples=6)
        singles = model.batches(text, examples=1)
        heads = heads_of(model)
        known = {}

        def loss(subset):
            if subset not in known:
                with torch.no_grad(), model.gates.masked(frozenset(heads) - subset):
                    known[subset] = sum(float(model.losses(batch)[0]) for batch in singles) / len(singles)
            return known[subset]

        exact = enumerated(loss, heads)
        assert len(known) == 2**8
        found = shapley_values(model, model.batches(text, examples=6), permutations=200, tolerance=0, seed=3)
        assert found.empty - found.full == pytest.approx(loss(frozenset()) - loss(frozenset(heads)), abs=1e-6)
        inside = [found.values[head].low <= value <= found.values[head].high for head, value in exact.items()]
        assert sum(inside) >= 7
        spread = max(exact.values()) - min(exact.values())
        assert all(found.values[head].value == pytest.approx(value, abs=0.1 * spread) for head, value in exact.items())
        assert sum(values(found)) == pytest.approx(found.empty - found.full, abs=1e-9)

    def test_masks_of_a_step_are_computed_once(self):
        model = GameModel(tangled, heads=(2, 2, 2))
        found = shapley_values(model, numbers(5), permutations=400, tolerance=0)
        assert found.masks == 2 + 63  # the two ends, and every smaller subset once
        assert model.rows == 5 * found.masks


class TestSums:
    def test_every_permutation_adds_up_without_truncation(self, lively, texts):
        removed = parse_profile("E1:2 A2:1 D1:3", lively.sites)
        batches = lively.batches(*texts, sentences=5)
        found = shapley_values(lively, batches, removed, permutations=4, tolerance=0)
        change = found.empty - found.full
        assert found.marginals.shape == (4, 21)
        assert found.marginals.sum(1).tolist() == pytest.approx([change] * 4, abs=1e-4)  # of losses of 170 nats
        assert sum(values(found)) == pytest.approx(change, abs=1e-4)


class TestTruncation:
    def test_of_a_monotone_model_costs_less_and_hides_at_most_the_tolerance(self):
        """A loss that saturates: without head one it is within 1 % of that of the empty model."""
        model = GameModel(
            lambda gates, _: 1 - gates[:, 0] * (0.7 + 0.29 * gates[:, 1:].mean(1)) - 0.01 * gates[:, 5], heads=(3, 3)
        )
        whole, cut = (shapley_values(model, numbers(1), permutations=40, tolerance=size) for size in (0, 0.02))
        assert cut.masks < whole.masks
        hidden = whole.marginals - cut.marginals
        assert (hidden >= -1e-12).all()
        assert (hidden <= 0.02 + 1e-12).all()
        assert (hidden > 0).any()
        sums = cut.marginals.sum(1)
        assert ((cut.empty - cut.full - sums).abs() <= 0.02 + 1e-12).all()
        assert whole.marginals.sum(1).tolist() == pytest.approx([1] * 40)

    def test_a_loss_that_passes_that_of_the_empty_model_biases_single_values(self):
        """Without a the loss is that of the empty model, 1, and permutations stop.

        If d is still there, the removal of c would raise it to 2, and that of d lower it again: +1 and -1 are skipped.
        """

        def loss(gates, _):
            one, two, three, four = gates.T
            return 1 - one * two + four * (1 - three) * (1 - one)

        model = GameModel(loss)
        whole, cut = (shapley_values(model, numbers(1), permutations=200, tolerance=size) for size in (0, 0.01))
        assert sum(values(whole)) == pytest.approx(1)
        assert sum(values(cut)) == pytest.approx(1, abs=0.01)
        biased = [found - exact for found, exact in zip(values(cut), values(whole))]
        assert max(map(abs, biased)) > 0.1
        assert sum(biased) == pytest.approx(0, abs=1e-9)

    def test_a_model_whose_heads_change_nothing_is_not_truncated(self):
        model = GameModel(lambda gates, _: torch.ones(len(gates)))
        found = shapley_values(model, numbers(2), permutations=2)
        assert values(found) == [0, 0, 0, 0]


def test_planted_heads_are_found_with_their_signs(tmp_path):
    model = planted_classifier(tmp_path / "model")
    batches = model.batches(marked_text(), examples=12)
    found = shapley_values(model, batches, permutations=20)
    assert {head for head, estimate in found.values.items() if estimate.low > 0.05} == HELPFUL
    assert {head for head, estimate in found.values.items() if estimate.high < -0.05} == HARMFUL
    assert roc_auc_score([head in HELPFUL for head in found.values], values(found)) == 1
