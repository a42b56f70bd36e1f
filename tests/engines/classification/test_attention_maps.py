"""Attention maps are the ones the model uses, in every family, and seeing them changes nothing."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.classification.model import ClassificationModel
from headroom.engines.classification.sites import attention_maps
from toy_encoder import toy_text, write_encoder

FAMILIES = ("bert", "distilbert", "roberta", "electra", "deberta-v3", "deberta-v2")


@pytest.fixture(params=FAMILIES)
def model_and_batch(request, tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / request.param, request.param), "cpu", "eager")
    return model, model.batches(toy_text(examples=6), examples=6)[0]


@torch.inference_mode()
def test_maps_times_values_are_z(model_and_batch):
    model, batch = model_and_batch
    maps, values, outputs = {}, {}, {}
    hooks = [
        live.value.register_forward_hook(
            lambda *seen, site=live.site: values.update({site: seen[-1].unflatten(-1, (4, -1))})
        )
        for live in model.live_sites
    ]
    with (
        attention_maps(model.live_sites, lambda site, weights: maps.update({site: weights})),
        model.gates.observed(lambda site, z: outputs.update({site: z})),
    ):
        during = model.logits(batch)
    for hook in hooks:
        hook.remove()
    assert set(maps) == set(model.sites)
    for site, weights in maps.items():  # (B, H, T, T)
        z = torch.einsum("bhts,bshd->tbhd", weights, values[site])
        real = batch.inputs["attention_mask"].T.bool()
        torch.testing.assert_close(z[real], outputs[site][real], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(
            weights.sum(-1)[real.T.unsqueeze(1).expand(-1, 4, -1)], torch.ones(4 * int(real.sum()))
        )
    assert torch.equal(during, model.logits(batch))


@torch.inference_mode()
def test_a_model_that_hides_its_weights_is_refused(tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / "bert", "bert"), "cpu", "sdpa")
    batch = model.batches(toy_text(examples=3), examples=3)[0]
    with (
        attention_maps(model.live_sites, lambda *_: None),
        pytest.raises(HeadroomError, match=r"BertSelfAttention does not return its attention weights \(site E1\)"),
    ):
        model.logits(batch)


@torch.inference_mode()
def test_a_site_without_heads_is_passed_over(tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / "bert", "bert"), "cpu", "eager")
    model.remove(frozenset([*model.sites[0].head_names(), model.sites[1].head_names()[2]]))
    seen = {}
    with attention_maps(model.live_sites, lambda site, weights: seen.update({str(site): weights.shape[1]})):
        model.logits(model.batches(toy_text(examples=3), examples=3)[0])
    assert seen == {"E2": 3}
