"""Many masks at once: each loss equals that of the model under one mask, example by example. Passes are counted."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_profile
from headroom.methods.costs import count_passes
from headroom.methods.masked_losses import MaskedLosses, all_scores, build_gates, list_examples, open_heads
from headroom.models.classifier.model import ClassificationModel
from headroom.models.head_model import take_rows
from models import ATTENTIONS, toy_text, write_encoder
from oracles import GameModel, numbers


@torch.no_grad()
def one_by_one(model, singles, removed):
    with model.gates.masked(removed):
        return sum(float(model.losses(batch)[0]) for batch in singles) / len(singles)


def profiles(model):
    heads = open_heads(model)
    return [frozenset(), frozenset(heads), frozenset(heads[::2]), frozenset(heads[3:5])]


def kept(profiles, heads):
    return torch.tensor([[float(head not in removed) for head in heads] for removed in profiles])


@pytest.mark.parametrize("gone", ["E1:2 E2:1", "E1:2 D2:1 A1:1 A1:2 A1:3 A1:4"], ids=["classifier", "translation"])
def test_losses_equal_those_of_one_example_and_mask_at_a_time(classifier, lively, texts, gone):
    model = lively if "D" in gone else classifier
    if model is lively:
        batches, singles = (model.batches(*texts, sentences=size) for size in (5, 1))
    else:
        batches, singles = (model.batches(toy_text(), examples=size) for size in (5, 1))
    model.remove(parse_profile(gone, model.sites))
    heads = open_heads(model)
    found = MaskedLosses(model, batches, heads).mean(kept(profiles(model), heads))
    expected = [one_by_one(model, singles, removed) for removed in profiles(model)]
    assert found.tolist() == pytest.approx(expected, rel=1e-5)
    assert len({round(value, 4) for value in expected}) == len(expected)


def candidates(base, rest):
    """Return masks (M, N) without one more head each, in a mixed order, and the base itself."""
    masks = base.repeat(len(rest) + 1, 1)
    masks[range(len(rest)), rest[::2] + rest[1::2]] = 0
    return masks


class TestBase:
    """Masks that differ from a base only above: what is below is computed once, and losses stay the same."""

    def check(self, model, batches, removed):
        heads = open_heads(model)
        base = kept([removed], heads)[0]
        rest = [place for place, head in enumerate(heads) if head not in removed]
        masks, losses = candidates(base, rest), MaskedLosses(model, batches, heads)
        expected = MaskedLosses(model, batches, heads).mean(masks)
        for _ in range(2):
            torch.testing.assert_close(losses.mean(masks, base=base), expected, rtol=1e-5, atol=1e-6)
        assert len(expected.unique()) > len(masks) // 2
        assert model.gates.changed == frozenset()
        assert not any("forward" in vars(module) for module in model.model.modules())

    @pytest.mark.parametrize(("family", "attention"), ATTENTIONS)
    def test_of_encoders(self, tmp_path, family, attention):
        model = ClassificationModel.load(write_encoder(tmp_path / "model", family, layers=3), "cpu", attention)
        self.check(model, model.batches(toy_text(), examples=5), parse_profile("E1:2 E2:1 E3:4", model.sites))

    def test_of_a_self_attentive_encoder(self, classifiers):
        model = ClassificationModel.load(classifiers["hops"], "cpu")
        self.check(model, model.batches(toy_text(), examples=5), frozenset())

    def test_of_a_translation_model(self, lively, texts):
        removed = parse_profile("E1:1 D2:2 A1:3", lively.sites)
        self.check(lively, lively.batches(*texts, sentences=5), removed)

    def test_it_computes_less(self, tmp_path):
        model = ClassificationModel.load(write_encoder(tmp_path / "model", layers=6), "cpu")
        heads, batches = open_heads(model), model.batches(toy_text(), examples=4)
        losses, base = MaskedLosses(model, batches, heads), torch.ones(len(heads))
        masks = candidates(base, list(range(len(heads))))
        losses.mean(masks[:1], base=base)  # traces the model, once
        computed = 0

        def count(module, inputs, _):
            nonlocal computed
            computed += inputs[0].numel() * module.out_features

        for module in model.model.modules():
            if isinstance(module, torch.nn.Linear):
                module.register_forward_hook(count)
        costs = []
        for given in (None, base):
            computed = 0
            losses.mean(masks, base=given)
            costs.append(computed)
        assert costs[1] < 0.6 * costs[0]


def test_examples_of_a_half_and_the_first_of_a_set():
    for half, limit, expected in (
        (None, None, [[0, 1, 2], [3, 4, 5, 6]]),
        (0, None, [[0, 2], [4, 6]]),
        (1, 2, [[1], [3]]),
        (None, 2, [[0, 1]]),
        (None, 99, [[0, 1, 2], [3, 4, 5, 6]]),
    ):
        found = list_examples(numbers(3, 4), half=half, limit=limit)
        assert [batch.positions for batch in found] == expected
        assert [batch.number.tolist() for batch in found] == expected


def test_rows_of_batches_of_both_engines(classifier, lively, texts):
    (batch,) = classifier.batches(toy_text(), examples=12)
    own = take_rows(batch, [3, 3, 0])
    assert own.positions == [batch.positions[row] for row in (3, 3, 0)]
    assert all(torch.equal(own.inputs[name], batch.inputs[name][[3, 3, 0]]) for name in batch.inputs)
    torch.testing.assert_close(classifier.losses(own)[0][1:], classifier.losses(batch)[0][[3, 0]])
    (batch,) = lively.batches(texts[0], sentences=12)  # without references
    own = take_rows(batch, [1, 4])
    assert torch.equal(own.source, batch.source[[1, 4]])
    assert own.target is None


def test_parts_of_similar_length_have_less_padding_and_equal_logits(classifier):
    (batch,) = classifier.batches(toy_text(), examples=12)
    parts = classifier.parts(batch, 5)
    assert [len(part.positions) for part in parts] == [5, 5, 2]
    assert sorted(place for part in parts for place in part.positions) == sorted(batch.positions)
    padding = [int((part.inputs["attention_mask"] == 0).sum()) for part in (batch, *parts)]
    assert sum(padding[1:]) < padding[0] / 2
    whole = classifier.logits(batch)
    for part in parts:
        rows = [batch.positions.index(place) for place in part.positions]
        assert torch.equal(part.labels, batch.labels[rows])
        torch.testing.assert_close(classifier.logits(part), whole[rows], rtol=1e-5, atol=1e-6)


def test_gates_of_other_heads_are_closed():
    model = GameModel(lambda gates, _: gates.sum(1))
    first, second = model.sites
    heads = [Head("E", 2, 1), Head("E", 1, 2)]
    found = build_gates(torch.tensor([[0.5, 2.0], [1.0, 3.0]]), heads, model.sites)
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


def test_passes_of_half_of_the_set_and_of_parts_of_the_model(lively, texts):
    batches = lively.batches(*texts, sentences=3)
    with torch.no_grad():
        lively.losses(batches[0])  # the first time, two ways to read the output are compared
    with count_passes(lively, 12) as passes, torch.no_grad():
        lively.losses(batches[0])
        lively.encode_sources(batches[1])
    assert passes.forward == pytest.approx(3 / 12 + 2 / 6 * 3 / 12)  # the encoder has 2 of the 6 sites
    assert passes.backward == 0


def test_passes_of_interventions_in_one_batch_count_for_each(lively, texts):
    (batch,) = lively.batches(texts[0][:1] * 4, texts[1][:1] * 4, sentences=4)
    with torch.no_grad():
        lively.losses(batch)
    with count_passes(lively, 1) as passes, torch.no_grad():
        lively.losses(batch)
    assert passes.forward == 4
