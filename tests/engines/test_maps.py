"""Attention maps are the ones the model uses, at every site of every family, and observing them has no effect."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.sites import attention_maps as maps_of_fairseq
from headroom.engines.hub.sites import attention_maps as maps_of_encoders
from headroom.engines.maps import pad_spans, shown_values
from models import toy_text

FAMILIES = ("bert", "distilbert", "roberta", "electra", "deberta-v3", "deberta-v2")
ORDINARY = torch.tensor([[False, True, True, False], [True, False, False, False]])


@pytest.fixture(params=["fairseq", *FAMILIES])
def case(request):
    """A model, a batch, and how its maps are shown."""
    if request.param == "fairseq":
        lively, texts = (request.getfixturevalue(name) for name in ("lively", "texts"))
        return lively, lively.batches(*texts, sentences=5)[0], maps_of_fairseq
    model = request.getfixturevalue("load")(request.param, "eager")
    return model, model.batches(toy_text(examples=6), examples=6)[0], maps_of_encoders


@torch.inference_mode()
def test_maps_times_values_are_z(case):
    model, batch, attention_maps = case
    maps, values, outputs, batch_first = {}, {}, {}, attention_maps is maps_of_encoders
    before = model.losses(batch)[0]
    with (
        attention_maps(model.live_sites, lambda site, weights: maps.update({site: weights})),
        shown_values(model.live_sites, lambda site, v: values.update({site: v}), batch_first=batch_first),
        model.gates.observed(lambda site, z: outputs.update({site: z})),
    ):
        during = model.losses(batch)[0]
    assert set(maps) == set(model.sites)
    for site, weights in maps.items():  # (B, H, T, S)
        z = torch.einsum("bhts,sbhd->tbhd", weights, values[site])
        real = torch.ones_like(weights[:, 0, :, 0], dtype=torch.bool)
        if batch_first:
            real = batch.inputs["attention_mask"].bool()
        torch.testing.assert_close(z[real.T], outputs[site][real.T], rtol=1e-4, atol=1e-5)
        sums = weights.sum(-1).transpose(1, 2)[real]
        torch.testing.assert_close(sums, torch.ones_like(sums))
    maps.clear()
    after = model.losses(batch)[0]
    torch.testing.assert_close(before, during, rtol=1e-5, atol=1e-5)  # without weights another kernel computes them
    assert torch.equal(before, after)
    assert not maps


@torch.inference_mode()
def test_a_model_that_hides_its_weights_is_refused(load):
    model = load("bert", "sdpa")
    with (
        maps_of_encoders(model.live_sites, lambda *_: None),
        pytest.raises(HeadroomError, match=r"BertSelfAttention: does not return attention weights \(site E1\)"),
    ):
        model.logits(model.batches(toy_text(examples=3), examples=3)[0])


@torch.inference_mode()
def test_a_site_without_heads_is_passed_over(load):
    model, seen = load("bert", "eager"), {}
    model.remove(frozenset([*model.sites[0].head_names(), model.sites[1].head_names()[2]]))
    with maps_of_encoders(model.live_sites, lambda site, weights: seen.update({str(site): weights.shape[1]})):
        model.logits(model.batches(toy_text(examples=3), examples=3)[0])
    assert seen == {"E2": 3}


def test_places_stand_where_pieces_count():
    spans = pad_spans([[(0, 2), (3, 4)], [(1, 5)]], ORDINARY)
    assert spans.tolist() == [[[-1, -1], [0, 2], [3, 4], [-1, -1]], [[1, 5], [-1, -1], [-1, -1], [-1, -1]]]
    assert pad_spans([[], []], torch.zeros(2, 1, dtype=torch.bool)).tolist() == [[[-1, -1]]] * 2


def test_another_number_of_pieces_is_refused():
    with pytest.raises(HeadroomError, match="1 aligned pieces, but the model reads 2"):
        pad_spans([[(0, 2)], [(1, 5)]], ORDINARY)
