"""Gradient norms of projections: sentence by sentence with all gradients, sliced heads, and greedy orders."""

import pytest
from headroom.core.heads import Head
from headroom.methods.criteria.gnorm import gnorm_scores
from models import toy_text
from planted import HARMFUL, HELPFUL, PLANTED_WEIGHTS, marked_text, planted_classifier
from sklearn.metrics import roc_auc_score


def scores(model, batches, removed=(), **options):
    return gnorm_scores(model, batches, removed, **options)["gnorm"]


def by_sentence(model, singles):
    """Return the scores from the gradients of all parameters, one sentence at a time, and rows cut head by head."""
    for parameter in model.model.parameters():
        parameter.requires_grad_(True)
        parameter.grad = None
    for batch in singles:
        (model.losses(batch)[0].sum() / len(singles)).backward()
    found = {}
    for live in model.live_sites:
        for place, head in enumerate(live.kept_heads()):
            product = 1.0
            for projection in live.inputs:
                rows = projection.weight.grad[place * live.head_width : (place + 1) * live.head_width]
                product *= float((rows**2).sum()) ** 0.5
            found[head] = product
    model.model.requires_grad_(False)
    return found


class TestOracles:
    def test_sentence_by_sentence_in_a_classifier(self, classifier):
        batches, singles = (classifier.batches(toy_text(), examples=size) for size in (5, 1))
        found = scores(classifier, batches)
        assert found == pytest.approx(by_sentence(classifier, singles), rel=1e-5)
        assert len(set(found.values())) == 8

    def test_sentence_by_sentence_in_a_translation_model(self, exact, texts):
        batches, singles = (exact.batches(*texts, sentences=size) for size in (5, 1))
        found = scores(exact, batches)
        assert found == pytest.approx(by_sentence(exact, singles), rel=1e-4)
        assert len(set(found.values())) == 24


def test_planted_heads_are_found_without_their_signs(tmp_path):
    model = planted_classifier(tmp_path / "model")
    found = scores(model, model.batches(marked_text(), examples=12))
    assert {head for head, value in found.items() if value > 1e-9} == HELPFUL | HARMFUL
    assert roc_auc_score([head in PLANTED_WEIGHTS for head in found], list(found.values())) == 1
    assert max(found, key=found.get) == Head("E", 1, 1)
