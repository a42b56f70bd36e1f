"""The workload of classifiers is the same for every model, and its multiply-adds agree with a manual count."""

import pytest
import torch
from headroom.core.heads import Head
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.classifier.timing import workload
from models import ATTENTION, HOPS, STATES, UNITS, toy_text, write_encoder, write_self_attentive

LAYERS, WIDTH, FORWARD, HEADS, HEAD, CLASSES = 2, 16, 32, 4, 4, 2


@pytest.fixture
def classifier(tmp_path):
    return ClassificationModel.load(write_encoder(tmp_path / "bert"), "cpu")


def by_hand(length, heads=(HEADS, HEADS)):
    """One example: per layer Q, K, V and output, both attention products, feed-forward; pooler and classifier."""
    total = WIDTH * WIDTH + WIDTH * CLASSES
    for count in heads:
        total += length * (4 * WIDTH * count * HEAD + 2 * WIDTH * FORWARD) + 2 * length * length * count * HEAD
    return total


@torch.inference_mode()
def test_multiply_adds_by_hand(classifier):
    work = workload(classifier, toy_text(), 3)
    assert work.multiply_adds(classifier, "model") == 3 * by_hand(work.shape["length"])
    with classifier.gates.masked(frozenset([Head("E", 1, 1)])):
        assert work.multiply_adds(classifier, "model") == 3 * by_hand(work.shape["length"])


@torch.inference_mode()
def test_a_sliced_model_saves_exactly_its_heads(classifier):
    work = workload(classifier, toy_text(), 3)
    classifier.remove(frozenset([Head("E", 1, 1), *(Head("E", 2, head) for head in (1, 2, 3, 4))]))
    assert work.multiply_adds(classifier, "model") == 3 * by_hand(work.shape["length"], heads=(3, 0))


@torch.inference_mode()
def test_those_of_hops_and_of_the_lstm_by_hand(tmp_path):
    model = ClassificationModel.load(write_self_attentive(tmp_path / "hops"), "cpu")
    work = workload(model, toy_text(), 3)
    length, pieces = work.shape["length"], int(work.batch.inputs["attention_mask"].sum())
    lstm = 2 * 4 * (STATES // 2) * (8 + STATES // 2)  # directions, gates, units, (embedding + units)
    for hops in (HOPS, HOPS - 1, 0):
        model.remove(frozenset(Head("E", 1, head) for head in range(hops + 1, HOPS + 1)))
        weights = length * (STATES * ATTENTION + ATTENTION * hops) if hops else 0
        example = weights + hops * length * STATES + hops * STATES * UNITS + UNITS * CLASSES
        assert work.multiply_adds(model, "model") == pieces * lstm + 3 * example
