"""Gradient importance of an encoder's heads: finite differences and a loop over single examples as oracles."""

import random

import pytest
import torch
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.methods.criteria.gradient import SOURCES, gate_gradients, gradient_scores

FAMILIES = ["bert", "roberta", "distilbert", "deberta-v2"]
INVARIANT = [criterion for criterion in SOURCES if criterion != "gradient-batch"]


def close(found, expected, rel=1e-5):
    assert set(found) == set(expected)
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-9), head


def mean(values):
    values = list(values)
    return sum(values) / len(values)


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
    model, step = exact(family, attention), 1e-5
    for batch in model.batches(pairs, examples=6):
        gradients = gate_gradients(model, batch)
        for site in model.sites:
            for head in range(4):
                shifted = []
                for sign in (1, -1):
                    gate = torch.ones(4, dtype=torch.float64)
                    gate[head] += sign * step
                    model.gates.set({site: gate})
                    with torch.no_grad():
                        shifted.append(model.losses(batch)[0])
                model.gates.clear()
                expected = (shifted[0] - shifted[1]) / (2 * step)  # (B,)
                found = gradients[site].sum(0)[:, head]
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_example_and_squared_equal_a_loop_over_single_examples(exact, pairs, family):
    model = exact(family)
    found = gradient_scores(model, model.batches(pairs, examples=12))
    single = {head: [] for head in all_heads(model.sites)}
    for place in range(len(pairs)):
        gates = {site: torch.ones(4, requires_grad=True) for site in model.sites}
        model.gates.set(gates)
        (batch,) = model.batches(pairs.taken([place]), examples=1)
        gradients = torch.autograd.grad(model.losses(batch)[0].sum(), list(gates.values()))
        for site, gradient in zip(gates, gradients):
            for head, value in zip(site.head_names(), gradient.tolist()):
                single[head].append(value)
    model.gates.clear()
    close(found["gradient-example"], {head: mean(map(abs, values)) for head, values in single.items()})
    close(found["gradient-squared"], {head: mean(v * v for v in values) for head, values in single.items()})
    # one batch: the sum over its examples
    close(found["gradient-batch"], {head: abs(sum(values)) for head, values in single.items()}, rel=1e-4)


@pytest.mark.parametrize("criterion", INVARIANT)
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_batch_size_order_and_padding_do_not_matter(exact, pairs, family, criterion):
    model = exact(family)
    expected = gradient_scores(model, model.batches(pairs, examples=1))[criterion]
    for examples in (5, 12):
        close(gradient_scores(model, model.batches(pairs, examples=examples))[criterion], expected)
    order = random.Random(0).sample(range(12), 12)
    close(gradient_scores(model, model.batches(pairs.taken(order), examples=5))[criterion], expected)


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


@pytest.mark.parametrize("profile", ["E1:2", "E1:1 E1:2 E1:3 E1:4", "E1:3 E2:1 E2:2 E2:4"])
@pytest.mark.parametrize("family", FAMILIES)
def test_removed_heads_score_nothing_masked_or_sliced_alike(exact, pairs, family, profile):
    model = exact(family)
    removed = parse_profile(profile, model.sites)
    batches = model.batches(pairs, examples=5)
    masked = gradient_scores(model, batches, removed)
    model.remove(removed)
    sliced = gradient_scores(model, batches)
    for criterion in SOURCES:
        assert all(masked[criterion][head] == sliced[criterion][head] == 0 for head in removed)
        close(sliced[criterion], masked[criterion], rel=1e-6)
    assert all(value > 0 for head, value in masked["gradient-example"].items() if head not in removed)
