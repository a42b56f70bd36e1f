"""Sliced encoders compute what masked ones do, survive a file, and keep the names of their heads."""

import copy
import json

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.engines.classification.model import ClassificationModel
from headroom.engines.classification.sites import find_sites
from headroom.engines.gates import Gates
from headroom.engines.head_model import fold, realise, remove_heads
from headroom.engines.sites import site_names
from hypothesis import given, settings
from hypothesis import strategies as st
from known_replacements import drawn_replacements, of_every_form
from safetensors.torch import load_file
from toy_encoder import toy_configuration, toy_model

FAMILIES = ["bert", "roberta", "distilbert", "electra", "deberta-v2", "deberta-v3"]
PROFILES = {
    "nothing": "",
    "one head": "E2:3",
    "first layer emptied": "E1:1 E1:2 E1:3 E1:4",
    "last layer emptied": "E2:1 E2:2 E2:3 E2:4 E1:4",
    "uneven": "E1:1 E1:2 E1:3 E2:2",
    "all": "E1:1 E1:2 E1:3 E1:4 E2:1 E2:2 E2:3 E2:4",
}
ENCODERS = {
    (family, attention): toy_model(toy_configuration(family, layers=3), attention=attention)
    for family, attention in [
        *((family, "eager") for family in FAMILIES),
        *((family, "sdpa") for family in FAMILIES if not family.startswith("deberta")),
    ]
}


@torch.no_grad()
def logits(model, batch):
    return model.logits(batch)


def size(model):
    return sum(parameter.numel() for parameter in model.model.parameters())


@pytest.mark.parametrize("precision", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize(("family", "attention"), ENCODERS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_set_of_heads_sliced_is_the_same_masked(family, attention, training, precision, data):
    masked, sliced = (copy.deepcopy(ENCODERS[family, attention]).to(precision).train(training) for _ in "ms")
    sites = find_sites(masked)
    removed = data.draw(st.frozensets(st.sampled_from(all_heads(site_names(sites)))))
    intervention = data.draw(st.sampled_from(of_every_form(removed, site_names(sites))))
    replacements = drawn_replacements(sites)
    Gates(sites=sites, batch_first=True).apply(intervention, replacements)
    live_sites = find_sites(sliced)
    fold(live_sites, intervention, replacements)
    remove_heads(live_sites, removed)
    inputs = {
        "input_ids": torch.tensor([[2, 7, 8, 9, 10, 3], [2, 9, 3, 1, 1, 1]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]),
    }
    with torch.no_grad():
        expected, found = masked(**inputs)[0], sliced(**inputs)[0]
    assert expected.dtype == precision
    tolerance = 1e-5 if precision == torch.float32 else 1e-12
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    assert {head for live in live_sites for head in live.kept_heads()} == {*all_heads(site_names(sites))} - removed


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("family", "attention"), ENCODERS)
def test_a_sliced_model_comes_back_from_its_directory(load, pairs, tmp_path, family, attention, profile, form):
    masked, sliced = load(family, attention), load(family, attention)
    removed = parse_profile(PROFILES[profile], masked.sites)
    intervention = of_every_form(removed, masked.sites)[form]
    replacements = drawn_replacements(masked.live_sites)
    realise(sliced, intervention, replacements)
    sliced.save(tmp_path / "sliced")
    reloaded = ClassificationModel.load(tmp_path / "sliced", "cpu", attention)
    (batch,) = masked.batches(pairs, examples=12)
    with masked.gates.applied(intervention, replacements):
        expected = logits(masked, batch)
    for model in (sliced, reloaded):
        torch.testing.assert_close(logits(model, batch), expected, rtol=1e-5, atol=1e-5)
        assert [live.kept for live in model.live_sites] == [live.kept for live in sliced.live_sites]
        assert model.sites == masked.sites
    assert torch.equal(logits(sliced, batch), logits(reloaded, batch))
    if intervention:
        assert (expected - logits(masked, batch)).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("family", "inputs"), [("bert", 3), ("distilbert", 3), ("electra", 3), ("deberta-v3", 3), ("deberta-v2", 5)]
)
@pytest.mark.parametrize("profile", PROFILES)
def test_parameters_fall_by_exactly_what_the_heads_had(load, family, inputs, profile):
    model = load(family)
    removed = parse_profile(PROFILES[profile], model.sites)
    before = size(model)
    model.remove(removed)
    # a head of width 4 in a model of width 16: rows and biases of the inputs, columns of the output
    assert before - size(model) == len(removed) * (inputs * (4 * 16 + 4) + 4 * 16)


def test_heads_of_a_sliced_model_keep_their_names(load, pairs):
    full, sliced = load(), load()
    (batch,) = full.batches(pairs, examples=12)
    sliced.remove(parse_profile("E1:1 E2:2", sliced.sites))
    for further in ("E1:3", "E2:4", "E1:1"):
        with full.gates.masked(parse_profile("E1:1 E2:2", full.sites) | parse_profile(further, full.sites)):
            expected = logits(full, batch)
        with sliced.gates.masked(parse_profile(further, sliced.sites)):
            torch.testing.assert_close(logits(sliced, batch), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_gates_with_rows_work_on_a_sliced_model(load, pairs, family):
    full, sliced = load(family), load(family)
    (batch,) = full.batches(pairs, examples=12)
    removed = parse_profile("E1:1 E1:4", sliced.sites)
    rows = torch.rand(12, 4, generator=torch.Generator().manual_seed(0))
    sliced.remove(removed)
    sliced.gates.set(dict.fromkeys(sliced.sites, rows))
    full.gates.set({full.sites[0]: rows * torch.tensor([0.0, 1.0, 1.0, 0.0]), full.sites[1]: rows})
    torch.testing.assert_close(logits(sliced, batch), logits(full, batch), rtol=1e-5, atol=1e-5)


def test_a_sliced_directory_can_be_sliced_further(load, pairs, tmp_path):
    masked, sliced = load(), load()
    sliced.remove(parse_profile("E2:1 E1:4", sliced.sites))
    sliced.save(tmp_path / "once")
    again = ClassificationModel.load(tmp_path / "once", "cpu")
    again.remove(parse_profile("E2:2 E2:3 E2:4 E1:1 E1:4", again.sites))  # E1:4 is gone already
    again.save(tmp_path / "twice")
    profile = "E1:1 E1:4 E2:1 E2:2 E2:3 E2:4"
    assert json.loads((tmp_path / "twice" / "headroom.json").read_text()) == {"removed": profile}
    weights = load_file(tmp_path / "twice" / "model.safetensors")
    assert weights["bert.encoder.layer.0.attention.self.query.weight"].shape == (8, 16)
    assert "bert.encoder.layer.1.attention.self.query.weight" not in weights
    (batch,) = masked.batches(pairs, examples=12)
    masked.gates.mask(parse_profile(profile, masked.sites))
    last = ClassificationModel.load(tmp_path / "twice", "cpu")
    torch.testing.assert_close(logits(last, batch), logits(masked, batch), rtol=1e-5, atol=1e-5)


def test_a_head_the_model_does_not_have_is_named_and_nothing_is_cut(load):
    model = load()
    before = size(model)
    with pytest.raises(HeadroomError, match="head E1:5 does not exist: site E1 has 4 heads"):
        model.remove(frozenset([Head("E", 1, 1), Head("E", 1, 5)]))
    assert size(model) == before
