"""Gradient importance of an encoder's heads: finite differences and a loop over single examples as oracles."""

import pytest
import torch
from headroom.core.heads import Head, all_heads
from headroom.methods.criteria.gradient import gate_gradients, gradient_scores
from oracles import gate_differences

FAMILIES = ["bert", "roberta", "distilbert", "deberta-v2"]


def close(found, expected, rel=1e-5):
    assert set(found) == set(expected)
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-9), head


@pytest.fixture
def exact(load):
    """Return a family's model in float64."""

    def make(family="bert", attention="sdpa"):
        model = load(family, attention)
        model.model.double()
        return model

    return make


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", FAMILIES)
def test_they_are_the_finite_difference_of_the_loss_in_the_gate(exact, pairs, family, attention):
    model = exact(family, attention)
    for batch in model.batches(pairs, examples=6):
        gradients = gate_gradients(model, batch)
        for site, expected in gate_differences(model, batch).items():
            torch.testing.assert_close(gradients[site].sum(0), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("family", [*FAMILIES, "electra"])
def test_the_last_layer_is_asked_at_the_first_position_alone(load, pairs, family):
    """The classifier reads the first position of the last layer; the layers below it are read everywhere."""
    model = load(family)
    (batch,) = model.batches(pairs, examples=12)
    found = {str(site): gradient.ne(0).any(-1).T for site, gradient in gate_gradients(model, batch).items()}  # (B, T)
    pieces = batch.inputs["attention_mask"].bool()
    assert torch.equal(found["E1"], pieces)  # every piece, no padding
    first = torch.zeros_like(pieces)
    first[:, 0] = True
    assert torch.equal(found["E2"], first)


@pytest.mark.parametrize("examples", [1, 5, 12])
def test_token_divides_by_examples_in_the_last_layer_and_by_tokens_below(exact, pairs, examples):
    """As in Michel's code for BERT: where only [CLS] has a gradient, positions are examples."""
    model = exact()
    found = gradient_scores(model, model.batches(pairs, examples=examples))["gradient-token"]
    sums, tokens = dict.fromkeys(all_heads(model.sites), 0.0), 0
    for place in range(len(pairs)):
        (batch,) = model.batches(pairs.taken([place]), examples=1)
        tokens += batch.inputs["input_ids"].numel()
        for site, products in gate_gradients(model, batch).items():
            for head, value in zip(site.head_names(), products.abs().sum((0, 1)).tolist()):
                sums[head] += value
    close(found, {head: value / (tokens if head.layer == 1 else len(pairs)) for head, value in sums.items()})
    scores = gradient_scores(model, model.batches(pairs, examples=examples))
    for head in (Head("E", 2, index) for index in (1, 2, 3, 4)):  # one position an example: nothing can cancel
        assert scores["gradient-token"][head] == pytest.approx(scores["gradient-example"][head], rel=1e-9)
