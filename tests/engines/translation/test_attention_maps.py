"""Attention maps are the ones the model uses, at every site, and seeing them changes nothing."""

import pytest
import torch
from headroom.engines.translation.sites import attention_maps


@pytest.fixture
def model_and_batch(model, texts):
    return model, model.batches(*texts, sentences=6)[0]


@torch.inference_mode()
def test_maps_times_values_are_z(model_and_batch):
    model, batch = model_and_batch
    maps, values, outputs = {}, {}, {}
    hooks = [
        live.attention.v_proj.register_forward_hook(
            lambda *seen, site=live.site: values.update({site: seen[-1].unflatten(-1, (4, -1))})
        )
        for live in model.live_sites
    ]
    with (
        attention_maps(model.live_sites, lambda site, weights: maps.update({site: weights})),
        model.gates.observed(lambda site, z: outputs.update({site: z})),
    ):
        model.losses(batch)
    for hook in hooks:
        hook.remove()
    assert set(maps) == set(model.sites)
    for site, weights in maps.items():  # (B, H, T, S)
        z = torch.einsum("bhts,sbhd->tbhd", weights, values[site])
        torch.testing.assert_close(z, outputs[site], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@torch.inference_mode()
def test_decoder_maps_are_causal_and_padding_gets_nothing(model_and_batch):
    model, batch = model_and_batch
    maps = {}
    with attention_maps(model.live_sites, lambda site, weights: maps.update({str(site): weights})):
        model.losses(batch)
    assert maps["D1"].triu(1).abs().max() == 0
    padding = batch.source.eq(model.source.dictionary.pad())
    for name in ("E1", "A2"):
        assert maps[name].transpose(1, 3)[padding].abs().sum() == 0


@torch.inference_mode()
def test_looking_changes_nothing_and_ends(model_and_batch):
    model, batch = model_and_batch
    before, seen = model.losses(batch)[0], []
    with attention_maps(model.live_sites, lambda site, _: seen.append(site)):
        during = model.losses(batch)[0]
    count = len(seen)
    after = model.losses(batch)[0]
    assert torch.equal(before, during)
    assert torch.equal(before, after)
    assert len(seen) == count == len(model.sites)
