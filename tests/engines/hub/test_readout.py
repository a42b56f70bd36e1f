"""Tokens read in parts of the vocabulary: losses and likeliest tokens are those of whole logits, which are not made."""

import pytest
import torch
from headroom.models import readout
from headroom.models.readout import Readout, best_tokens, rank_tokens, read_tokens
from models import CAUSAL, SEQ2SEQ, build_small, inputs_of

FAMILIES = (*CAUSAL, *SEQ2SEQ)
CHANGED = ("gemma2", "granite", "cohere")
"""Families whose logits are capped or scaled."""

PLACES = torch.tensor([[True, True, False, True, True, False], [False, True, True, False, False, False]])
TARGET = torch.tensor([3, 29, 0, 7, 7, 12])


@torch.inference_mode()
@pytest.mark.parametrize("family", FAMILIES)
def test_readings_are_those_of_whole_logits_in_parts_of_any_size(family, monkeypatch):
    model = build_small(family)
    if family == "bart":
        model.final_logits_bias.copy_(torch.linspace(-2, 2, 30))
    if family == "granite":
        model.config.logits_scaling = 3.0
    inputs, shapes = inputs_of(family), []

    def run():
        logits = model(**inputs, use_cache=False).logits
        shapes.append(tuple(logits.shape))
        return logits

    logits = run()[PLACES]
    nats = torch.nn.functional.cross_entropy(logits, TARGET, reduction="none")
    read = Readout(model)
    for room in (1, 40, 10_000):
        monkeypatch.setitem(readout._ROOM, "cpu", room)
        reading = read.read(run, PLACES)
        found, best = read_tokens(reading.parts(), TARGET)
        torch.testing.assert_close(found, nats, rtol=1e-5, atol=1e-5)
        assert best.tolist() == best_tokens(reading.parts(), TARGET).tolist() == logits.argmax(-1).tolist()
        assert rank_tokens(reading.parts(), 4).tolist() == logits.topk(4).indices.tolist()
        some = torch.tensor([1, 4])
        assert best_tokens(reading.parts(some), TARGET[some]).tolist() == best[some].tolist()
    assert shapes[2:] == [(2, 6, 30) if family in CHANGED else (0, 1, 30)] * (len(shapes) - 2)


def test_of_equal_tokens_the_first_is_the_best():
    parts = [(0, torch.tensor([[1.0, 2.0, 2.0]])), (3, torch.tensor([[2.0, 1.0, 0.0]]))]
    assert best_tokens(parts, torch.tensor([0])).tolist() == [1]


def test_impossible_tokens_cost_infinity_and_others_are_read_without_them():
    parts = [(0, torch.tensor([[-torch.inf, -torch.inf]] * 2)), (2, torch.tensor([[0.0, 0.0]] * 2))]
    nats, best = read_tokens(parts, torch.tensor([0, 3]))
    assert nats.tolist() == pytest.approx([torch.inf, 0.6931472])
    assert best.tolist() == [2, 2]
