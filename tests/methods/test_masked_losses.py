"""Many masks at once: each loss equals that of the model under one mask, example by example."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_profile
from headroom.engines.classification.model import ClassificationModel
from headroom.methods.masked_losses import ROWS, all_scores, examples_of, gates_of, mean_losses, open_heads, taken
from toy_encoder import toy_text, write_encoder
from toy_game import GameModel, numbers


@pytest.fixture
def classifier(tmp_path):
    return ClassificationModel.load(write_encoder(tmp_path / "model"), "cpu", "eager")


@torch.no_grad()
def one_by_one(model, singles, removed):
    with model.gates.masked(removed):
        return sum(float(model.losses(batch)[0]) for batch in singles) / len(singles)


def profiles(model):
    heads = open_heads(model)
    return [frozenset(), frozenset(heads), frozenset(heads[::2]), frozenset(heads[3:5])]


def kept(profiles, heads):
    return torch.tensor([[float(head not in removed) for head in heads] for removed in profiles])


def test_losses_of_a_classifier_equal_those_of_one_example_and_mask_at_a_time(classifier):
    batches, singles = (classifier.batches(toy_text(), examples=size) for size in (5, 1))
    classifier.remove(frozenset([Head("E", 1, 2), Head("E", 2, 1)]))
    heads = open_heads(classifier)
    found = mean_losses(classifier, batches, kept(profiles(classifier), heads), heads)
    expected = [one_by_one(classifier, singles, removed) for removed in profiles(classifier)]
    assert found.tolist() == pytest.approx(expected, rel=1e-5)
    assert len({round(value, 6) for value in expected}) == len(expected)


def test_losses_of_translations_equal_those_of_one_example_and_mask_at_a_time(lively, texts):
    batches, singles = (lively.batches(*texts, sentences=size) for size in (5, 1))
    lively.remove(parse_profile("E1:2 D2:1 A1:1 A1:2 A1:3 A1:4", lively.sites))
    heads = open_heads(lively)
    found = mean_losses(lively, batches, kept(profiles(lively), heads), heads)
    expected = [one_by_one(lively, singles, removed) for removed in profiles(lively)]
    assert found.tolist() == pytest.approx(expected, rel=1e-5)
    assert len({round(value, 4) for value in expected}) == len(expected)


def test_gates_are_cleared_and_rows_are_limited():
    model = GameModel(lambda gates, _: gates.sum(1))
    rows = []
    model.losses = lambda batch: (rows.append(len(batch.number)), GameModel.losses(model, batch))[1]
    masks = torch.rand(300, 4, generator=torch.Generator().manual_seed(0)).round()
    found = mean_losses(model, numbers(5, 7), masks, open_heads(model))
    assert found.tolist() == masks.sum(1).tolist()
    assert max(rows) <= ROWS
    assert sum(rows) == 300 * 12
    assert model.gates.changed == frozenset()


def test_a_mask_alone_may_exceed_the_rows():
    model = GameModel(lambda gates, _: gates.sum(1))
    assert mean_losses(model, numbers(ROWS + 1), torch.ones(2, 4), open_heads(model)).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("half", "limit", "expected"),
    [
        (None, None, [[0, 1, 2], [3, 4, 5, 6]]),
        (0, None, [[0, 2], [4, 6]]),
        (1, 2, [[1], [3]]),
        (None, 2, [[0, 1]]),
        (None, 99, [[0, 1, 2], [3, 4, 5, 6]]),
    ],
)
def test_examples_of_a_half_and_the_first_of_a_set(half, limit, expected):
    found = examples_of(numbers(3, 4), half=half, limit=limit)
    assert [batch.positions for batch in found] == expected
    assert [batch.number.tolist() for batch in found] == expected


def test_rows_of_batches_of_both_engines(classifier, lively, texts):
    (batch,) = classifier.batches(toy_text(), examples=12)
    own = taken(batch, [3, 3, 0])
    assert own.positions == [batch.positions[row] for row in (3, 3, 0)]
    assert all(torch.equal(own.inputs[name], batch.inputs[name][[3, 3, 0]]) for name in batch.inputs)
    torch.testing.assert_close(classifier.losses(own)[0][1:], classifier.losses(batch)[0][[3, 0]])
    (batch,) = lively.batches(texts[0], sentences=12)  # without references
    own = taken(batch, [1, 4])
    assert torch.equal(own.source, batch.source[[1, 4]])
    assert own.target is None


def test_gates_of_other_heads_are_closed():
    model = GameModel(lambda gates, _: gates.sum(1))
    first, second = model.sites
    heads = [Head("E", 2, 1), Head("E", 1, 2)]
    found = gates_of(torch.tensor([[0.5, 2.0], [1.0, 3.0]]), heads, model.sites)
    assert found[first].tolist() == [[0, 2], [0, 3]]
    assert found[second].tolist() == [[0.5, 0], [1, 0]]
    assert all_scores(model, heads, [1, 2]) == {
        Head("E", 1, 1): 0, Head("E", 1, 2): 2, Head("E", 2, 1): 1, Head("E", 2, 2): 0
    }  # fmt: skip


def test_open_heads_are_neither_sliced_nor_removed():
    model = GameModel(lambda gates, _: gates.sum(1), removed=[Head("E", 1, 1)])
    assert open_heads(model, [Head("E", 2, 2)]) == [Head("E", 1, 2), Head("E", 2, 1)]
    with pytest.raises(HeadroomError, match="head E3:1: does not exist"):
        open_heads(model, [Head("E", 3, 1)])
