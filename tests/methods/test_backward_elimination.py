"""Backward elimination: brute force with one mask at a time, hand-worked games, ties, and planted heads."""

import pytest
import torch
from headroom.core.heads import Head, single_units
from headroom.methods.criteria.backward_elimination import backward_elimination_scores, eliminate
from headroom.methods.orders import least_important_first
from oracles import GameModel, heads_of, numbers
from planted import HARMFUL, HELPFUL, PLANTED_WEIGHTS, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score

ONE, TWO, THREE, FOUR = (Head("E", layer, head) for layer in (1, 2) for head in (1, 2))


def scores(model, batches, removed=(), **options):
    return backward_elimination_scores(model, batches, removed, **options)["backward-elimination"]


@torch.no_grad()
def brute_force(model, singles, heads, steps):
    """Return the first heads and losses, one mask and one sentence at a time."""
    gone, found = frozenset(), []
    for _ in range(steps):
        losses = {}
        for head in heads:
            if head not in gone:
                with model.gates.masked(gone | {head}):
                    losses[head] = sum(float(model.losses(batch)[0]) for batch in singles) / len(singles)
        best = min(losses, key=losses.get)
        gone |= {best}
        found.append((best, losses[best]))
    return found


class TestBruteForce:
    def test_of_a_translation_model(self, lively, texts):
        few = [side[:6] for side in texts]
        heads = heads_of(lively)
        found = eliminate(lively, lively.batches(*few, sentences=4))
        assert sorted(head for head, _ in found) == heads
        expected = brute_force(lively, lively.batches(*few, sentences=1), heads, 4)
        assert [head for head, _ in found[:4]] == [head for head, _ in expected]
        assert [loss for _, loss in found[:4]] == pytest.approx([loss for _, loss in expected], rel=1e-5)

    def test_of_a_classifier_to_the_end(self, tmp_path):
        model = planted_classifier(
            tmp_path / "model", {head: weight + 0.01 for head, weight in PLANTED_WEIGHTS.items()}
        )
        ignored = [head for head in heads_of(model) if head not in PLANTED_WEIGHTS]
        expected = brute_force(
            model, model.batches(marked_text(), examples=1), sorted(PLANTED_WEIGHTS), len(PLANTED_WEIGHTS)
        )
        found = eliminate(model, model.batches(marked_text(), examples=12), ignored)
        assert [head for head, _ in found] == [head for head, _ in expected]
        assert [loss for _, loss in found] == pytest.approx([loss for _, loss in expected], rel=1e-4)


class TestByHand:
    def test_the_order_is_by_the_loss_without_all_heads_removed_before(self):
        """L = -3 a - 2 max(b, c) + d: d harms, then b or c is spare, then the other one costs 2, and a 3."""
        model = GameModel(lambda gates, _: -3 * gates[:, 0] - 2 * torch.maximum(gates[:, 1], gates[:, 2]) + gates[:, 3])
        assert eliminate(model, numbers(3)) == [(FOUR, -5), (TWO, -5), (THREE, -3), (ONE, 0)]  # equal: table order
        found = scores(model, numbers(3))
        assert found == {ONE: 4, TWO: 2, THREE: 3, FOUR: 1}
        assert least_important_first(found, single_units(heads_of(model))) == single_units([FOUR, TWO, THREE, ONE])
        assert scores(model, numbers(3), [ONE]) == {ONE: 0, TWO: 2, THREE: 3, FOUR: 1}
        assert scores(GameModel(model.game, removed=[ONE]), numbers(3)) == {ONE: 0, TWO: 2, THREE: 3, FOUR: 1}

    def test_greedy_is_not_optimal(self):
        """L = -3 a b - 2 c (1 - a): c is worth 2 alone, but is removed first, as it adds nothing to a and b."""
        model = GameModel(lambda gates, _: -3 * gates[:, 0] * gates[:, 1] - 2 * gates[:, 2] * (1 - gates[:, 0]))
        assert eliminate(model, numbers(1)) == [(THREE, -3), (FOUR, -3), (ONE, 0), (TWO, 0)]

    def test_it_costs_half_of_the_square_of_the_heads(self):
        """And one pass more at each step, on which the others build; tracing the model is the same for all sets."""
        model = GameModel(lambda gates, _: gates.sum(1), heads=(3, 3))
        rows = []
        for sizes in ((2, 3), (4, 6)):
            model.rows = 0
            eliminate(model, numbers(*sizes))
            rows.append(model.rows)
        assert rows[1] - rows[0] == 5 * (6 + 5 + 4 + 3 + 2 + 1 + 6)


def test_planted_heads_are_found(tmp_path):
    model = planted_classifier(tmp_path / "model")
    found = scores(model, model.batches(marked_text(), examples=12))
    assert sorted(found, key=found.get)[:2] == sorted(HARMFUL, key=found.get)
    assert sorted(found, key=found.get)[-3:] == sorted(HELPFUL, key=found.get)
    assert roc_auc_score([head in HELPFUL for head in found], list(found.values())) == 1
