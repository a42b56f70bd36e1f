"""Integrated gradients and attention attribution: finite differences, loops, a game by hand."""

import pytest
import torch
from headroom.core.heads import Head
from headroom.methods.criteria.attention_attribution import attention_attribution_scores
from headroom.methods.criteria.integrated_gradients import score_by_integrated_gradients
from headroom.methods.masked_losses import MaskedLosses, open_heads
from headroom.models.seq2seq.model import Seq2SeqModel
from models import toy_text
from oracles import GameModel, numbers


def integrated(model, batches, removed=(), **options):
    return score_by_integrated_gradients(model, batches, removed, **options)["integrated-gradients"]


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


class TestIntegratedGradients:
    def test_scores_equal_finite_differences(self, classifier):
        batches, singles = (classifier.batches(toy_text(), examples=size) for size in (5, 1))
        expected = by_differences(classifier, singles, 2)
        found = integrated(classifier, batches, steps=2, complete=float("inf"))
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)

    def test_scores_of_a_trained_model_add_up_to_the_loss_without_heads(self, model, texts):
        batches, removed = model.batches(*texts, sentences=12), frozenset([Head("E", 1, 1), Head("A", 2, 3)])
        heads = open_heads(model, removed)
        ends = torch.tensor([[1.0], [0.0]]).expand(2, len(heads))
        opened, closed = MaskedLosses(model, batches, heads).mean(ends).tolist()
        assert sum(integrated(model, batches, removed).values()) == pytest.approx(closed - opened, rel=1e-3)

    def test_steps_are_doubled_until_the_scores_are_complete(self, monkeypatch, caplog):
        """L = (1 - a)^3: with n steps of the trapezoidal rule the integral of 3 (1 - a)^2 is 1 + 1 / (2 n^2)."""
        model = GameModel(lambda gates, _: (1 - gates[:, 0]) ** 3, heads=(1,))
        head = Head("E", 1, 1)
        for steps, complete in {2: 0.2, 4: 0.1, 8: 0.02, 16: 0.005}.items():
            model.rows = 0
            found = integrated(model, numbers(1), steps=2, complete=complete)
            assert found[head] == pytest.approx(1 + 1 / (2 * steps**2))
            assert model.rows == steps + 1
        assert not caplog.messages
        monkeypatch.setattr("headroom.methods.criteria.integrated_gradients.MOST", 4)
        integrated(model, numbers(1), steps=2)
        assert caplog.messages == ["integrated-gradients: with 4 steps the error of the sum of scores is 0.03"]  # 1/32


FLOW = ("E1", "E2", "D1", "A1", "D2", "A2")
"""The sites of the translation model in the order in which they attend."""


class ScaledSoftmax:
    """A softmax whose n-th result is a leaf, scaled."""

    def __init__(self, softmax, number, scale):
        self.softmax, self.number, self.scale = softmax, number, scale
        self.calls, self.plain, self.leaf = 0, None, None

    def __call__(self, x, dim, *_, **__):
        found = self.softmax(x, dim=dim)
        if self.calls == self.number:
            self.plain = found.detach()
            found = self.leaf = (self.scale * self.plain).requires_grad_()
        self.calls += 1
        return found


def slow(singles, probability, steps, sites):
    """Return the scores by Hao et al.'s definition: the gradient of the weights, by a softmax that scales them."""
    softmax, sums = torch.nn.functional.softmax, {}
    for number, site in enumerate(sites):
        for batch in singles:
            total = 0
            for step in range(1, steps + 1):
                scaled = ScaledSoftmax(softmax, number, step / steps)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(torch.nn.functional, "softmax", scaled)
                    value = probability(batch)
                total = total + torch.autograd.grad(value, scaled.leaf)[0] / steps
            attributed = (scaled.plain * total).view(site.heads, -1)  # one example
            for head, largest in zip(site.head_names(), attributed.max(1).values.tolist()):
                sums[head] = sums.get(head, 0.0) + max(largest, 0.0)
    return {head: value / len(singles) for head, value in sums.items()}


def test_attention_attribution_is_that_by_the_gradients_of_weights(lively_checkpoint, texts):
    lively = Seq2SeqModel.load(lively_checkpoint, "cpu", "eager")
    few = [side[:3] for side in texts]
    batches, singles = (lively.batches(*few, sentences=size) for size in (3, 1))

    def probability(batch):
        logs = lively.logits(batch).log_softmax(-1)[0]
        return torch.exp(sum(row[token] for row, token in zip(logs, batch.target[0])) / len(logs))

    by_name = {str(site): site for site in lively.sites}
    expected = slow(singles, probability, 3, [by_name[name] for name in FLOW])
    found = attention_attribution_scores(lively, batches, steps=3)["attention-attribution"]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-9)
    assert len(set(expected.values())) == 24
