"""Integrated gradients: a game by hand, finite differences, completeness, and planted heads."""

import pytest
import torch
from headroom.core.heads import Head
from headroom.methods.criteria.integrated_gradients import score_by_integrated_gradients
from headroom.methods.masked_losses import MaskedLosses, open_heads
from headroom.methods.passes import count_passes
from models import toy_text
from oracles import GameModel, heads_of, numbers
from planted import HARMFUL, HELPFUL, PLANTED_WEIGHTS, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score


def scores(model, batches, removed=(), **options):
    return score_by_integrated_gradients(model, batches, removed, **options)["integrated-gradients"]


def game(gates, number):
    one, two, three, four = gates.T
    return (3 - 2 * one - two * three + four**2 / 2) * (1 + number)


class TestByHand:
    def test_each_head_gets_its_part_of_the_path(self):
        """dL/dxi on the path: -2, -a, -a, a; the integrals -2, -1/2, -1/2, 1/2, for numbers 0 and 1."""
        model = GameModel(game)
        found = scores(model, numbers(2), steps=2)  # the trapezoidal rule is exact for lines
        assert list(found) == heads_of(model)
        assert list(found.values()) == pytest.approx([1.5 * part for part in (2, 0.5, 0.5, -0.5)])


UNREFINED = {"steps": 2, "complete": float("inf")}


def by_differences(model, singles, steps):
    """Return the scores from losses alone: central differences in one gate at each point, sentence by sentence."""
    heads, found = open_heads(model), {}
    for place, head in enumerate(heads):
        slopes = []
        for step in range(steps + 1):
            losses = []
            for sign in (1, -1):
                gates = torch.full((1, len(heads)), step / steps, dtype=torch.float64)
                gates[0, place] += sign * 1e-6
                losses.append(float(MaskedLosses(model, singles, heads).mean(gates)))
            slopes.append((losses[0] - losses[1]) / 2e-6 / (1 if 0 < step < steps else 2))
        found[head] = -sum(slopes) / steps
    return found


class TestOracles:
    def test_finite_differences_of_a_classifier(self, classifier):
        batches, singles = (classifier.batches(toy_text(), examples=size) for size in (5, 1))
        expected = by_differences(classifier, singles, 2)
        assert scores(classifier, batches, **UNREFINED) == pytest.approx(expected, rel=1e-4, abs=1e-6)

    def test_finite_differences_of_a_translation_model(self, exact, texts):
        nats = torch.nn.functional.cross_entropy
        pad = exact.target.dictionary.pad()
        few = [side[:3] for side in texts]

        def losses(batch):  # in float64, unlike the model's own
            own = nats(exact.logits(batch).transpose(1, 2), batch.target, ignore_index=pad, reduction="none")
            return own.sum(1), None

        exact.losses = losses
        expected = by_differences(exact, exact.batches(*few, sentences=1), 2)
        found = scores(exact, exact.batches(*few, sentences=3), **UNREFINED)
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def change(model, batches, removed=()):
    """Return L(closed) - L(open)."""
    heads = open_heads(model, removed)
    ends = torch.tensor([[1.0], [0.0]]).expand(2, len(heads))
    opened, closed = MaskedLosses(model, batches, heads).mean(ends).tolist()
    return closed - opened


class TestCompleteness:
    def test_of_a_classifier(self, classifier):
        batches = classifier.batches(toy_text(), examples=5)
        assert sum(scores(classifier, batches).values()) == pytest.approx(change(classifier, batches), rel=1e-3)

    def test_of_a_trained_translation_model(self, model, texts):
        batches = model.batches(*texts, sentences=5)
        assert sum(scores(model, batches).values()) == pytest.approx(change(model, batches), rel=1e-3)
        removed = frozenset([Head("E", 1, 1), Head("A", 2, 3)])
        expected = change(model, batches, removed)
        assert sum(scores(model, batches, removed).values()) == pytest.approx(expected, rel=1e-3)

    @pytest.mark.long
    def test_where_parts_cancel_steps_are_doubled(self, exact, texts):
        """With random weights the parts are eight times their sum, and ReLUs have kinks on the path."""
        batches = exact.batches(*texts, sentences=12)
        with count_passes(exact, 12) as passes:
            found = scores(exact, batches)
        assert sum(map(abs, found.values())) > 5 * abs(change(exact, batches))
        assert sum(found.values()) == pytest.approx(change(exact, batches), rel=1e-3)
        assert passes.forward == passes.backward in (129, 257, 513)

    def test_steps_are_doubled_until_the_scores_are_complete(self):
        """L = (1 - a)^3: with n steps of the trapezoidal rule the integral of 3 (1 - a)^2 is 1 + 1 / (2 n^2)."""
        model = GameModel(lambda gates, _: (1 - gates[:, 0]) ** 3, heads=(1,))
        head = Head("E", 1, 1)
        errors = {2: 0.2, 4: 0.1, 8: 0.02, 16: 0.005}
        for steps, complete in errors.items():
            model.rows = 0
            assert scores(model, numbers(1), steps=2, complete=complete)[head] == pytest.approx(1 + 1 / (2 * steps**2))
            assert model.rows == steps + 1

    def test_too_few_steps_are_reported(self, monkeypatch, caplog):
        monkeypatch.setattr("headroom.methods.criteria.integrated_gradients.MOST", 4)
        model = GameModel(lambda gates, _: (1 - gates[:, 0]) ** 3, heads=(1,))
        scores(model, numbers(1), steps=2)
        assert caplog.messages == [
            "integrated-gradients: with 4 steps the error of the sum of scores is 0.03"
        ]  # 1 / 32


def test_planted_heads_are_found_with_their_signs(tmp_path):
    model = planted_classifier(tmp_path / "model")
    found = scores(model, model.batches(marked_text(), examples=12))
    assert {head for head, value in found.items() if value > 0.1} == HELPFUL
    assert {head for head, value in found.items() if value < -0.1} == HARMFUL
    assert all(abs(value) < 1e-6 for head, value in found.items() if head not in PLANTED_WEIGHTS)
    assert roc_auc_score([head in HELPFUL for head in found], list(found.values())) == 1
