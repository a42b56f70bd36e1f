"""Gates reach every site of an encoder under both attention backends, in training and evaluation mode."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_head

FAMILIES = ["bert", "roberta", "distilbert", "electra", "deberta-v2", "deberta-v3"]
BACKENDS = ["eager", "sdpa"]


@torch.no_grad()
def logits(model, batch):
    return model.logits(batch)


def batch_of(model, text):
    (batch,) = model.batches(text, examples=12)
    return batch


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("attention", BACKENDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_mask_acts_on_the_head_it_names(load, pairs, family, attention, training):
    model = load(family, attention)
    model.model.train(training)
    batch = batch_of(model, pairs)
    plain = logits(model, batch)
    for live in model.live_sites:
        with model.gates.masked([Head("E", live.site.layer, 2)]):
            masked = logits(model, batch)
        assert (masked - plain).abs().max() > 1e-3
        before = live.output.weight.clone()
        live.output.weight[:, 4:8] = 0  # what the output projection reads of head 2
        torch.testing.assert_close(masked, logits(model, batch), rtol=1e-5, atol=1e-5)
        live.output.weight.copy_(before)
    assert torch.equal(logits(model, batch), plain)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra"])
def test_both_backends_say_the_same_under_any_gate(load, pairs, family):
    models = [load(family, attention) for attention in BACKENDS]
    assert [model.model.config._attn_implementation for model in models] == BACKENDS
    generator = torch.Generator().manual_seed(0)
    for shape in ((4,), (12, 4)):
        gates = {site: 2 * torch.rand(shape, generator=generator) - 0.5 for site in models[0].sites}
        found = []
        for model in models:
            model.gates.set(gates)
            found.append(logits(model, batch_of(model, pairs)))
            model.gates.clear()
            assert (found[-1] - logits(model, batch_of(model, pairs))).abs().max() > 1e-3
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("attention", BACKENDS)
@pytest.mark.parametrize("shape", [(4,), (12, 4)])
def test_gates_of_one_are_the_plain_model_to_the_bit(load, pairs, shape, attention):
    model = load("bert", attention)
    batch = batch_of(model, pairs)
    plain = logits(model, batch)
    model.gates.set({site: torch.ones(shape) for site in model.sites})
    assert torch.equal(logits(model, batch), plain)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_a_gate_act_on_their_example_alone(load, pairs, family):
    model = load(family)
    batch = batch_of(model, pairs)
    rows = torch.ones(12, 4)
    rows[3, 1] = rows[7, 2] = 0
    model.gates.set({model.sites[0]: rows})
    found = logits(model, batch)
    model.gates.clear()
    expected = logits(model, batch)
    for row, head in ((3, 2), (7, 3)):
        with model.gates.masked([Head("E", 1, head)]):
            expected[row] = logits(model, batch)[row]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_observers_see_gated_z_by_site_and_head_time_first(load, pairs, family):
    model, seen = load(family), {}
    batch = batch_of(model, pairs)
    with model.gates.masked([Head("E", 2, 3)]), model.gates.observed(lambda site, z: seen.update({str(site): z})):
        logits(model, batch)
    assert list(seen) == ["E1", "E2"]
    assert seen["E1"].shape == (batch.inputs["input_ids"].shape[1], 12, 4, 4)
    assert [bool(seen["E2"][:, :, head].any()) for head in range(4)] == [True, True, False, True]


def test_a_head_the_model_does_not_have_is_named(load):
    with pytest.raises(HeadroomError, match=r"head D1:1 does not exist.*sites are E1 E2"):
        load().gates.mask([parse_head("D1:1")])
