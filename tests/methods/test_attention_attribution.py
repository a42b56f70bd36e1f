"""Attention attribution: gradients with respect to the weights themselves, one sentence and site at a time."""

import fairseq
import pytest
import torch
from headroom.methods.criteria.attention_attribution import attention_attribution_scores
from models import toy_text
from planted import HELPFUL, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score

FLOW = ("E1", "E2", "D1", "A1", "D2", "A2")
"""The sites of the translation model in the order in which they attend."""


def scores(model, batches, removed=(), **options):
    return attention_attribution_scores(model, batches, removed, **options)["attention-attribution"]


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


def slow(module, singles, probability, steps, sites):
    """Return the scores by Hao et al.'s definition: the gradient of the weights, which replace a module's softmax."""
    softmax, sums = torch.nn.functional.softmax, {}
    for number, site in enumerate(sites):
        for batch in singles:
            total = 0
            for step in range(1, steps + 1):
                scaled = ScaledSoftmax(softmax, number, step / steps)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(module, "softmax", scaled)
                    value = probability(batch)
                total = total + torch.autograd.grad(value, scaled.leaf)[0] / steps
            attributed = (scaled.plain * total).view(site.heads, -1)  # one example
            for head, largest in zip(site.head_names(), attributed.max(1).values.tolist()):
                sums[head] = sums.get(head, 0.0) + max(largest, 0.0)
    return {head: value / len(singles) for head, value in sums.items()}


class TestOracles:
    def test_of_a_classifier(self, classifier):
        batches, singles = (classifier.batches(toy_text(), examples=size) for size in (5, 1))

        def probability(batch):
            return classifier.logits(batch).softmax(-1)[0, batch.labels[0]]

        expected = slow(torch.nn.functional, singles, probability, 3, classifier.sites)
        assert scores(classifier, batches, steps=3) == pytest.approx(expected, rel=1e-4, abs=1e-8)
        assert len(set(expected.values())) == 8

    def test_of_a_translation_model(self, lively, texts):
        few = [side[:4] for side in texts]
        batches, singles = (lively.batches(*few, sentences=size) for size in (4, 1))

        def probability(batch):
            logs = lively.logits(batch).log_softmax(-1)[0]
            return torch.exp(sum(row[piece] for row, piece in zip(logs, batch.target[0])) / len(logs))

        by_name = {str(site): site for site in lively.sites}
        for live in lively.live_sites:  # fairseq's own attention, step by step
            live.attention._observed = 1
        expected = slow(fairseq.utils, singles, probability, 3, [by_name[name] for name in FLOW])
        for live in lively.live_sites:
            live.attention._observed = 0
        assert scores(lively, batches, steps=3) == pytest.approx(expected, rel=1e-3, abs=1e-9)
        assert len(set(expected.values())) == 24


class TestScores:
    def test_planted_heads_are_found(self, tmp_path):
        model = planted_classifier(tmp_path / "model")
        found = scores(model, model.batches(marked_text(), examples=12))
        assert roc_auc_score([head in HELPFUL for head in found], list(found.values())) == 1
