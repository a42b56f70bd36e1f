"""The fairseq task: sites open to hooks, weights tagged with their site, autocast."""

import pytest
import torch
from fairseq_models import batch, gradients, make_trainer
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.sites import find_sites, open_sites
from torch import nn

SITES = {f"{kind}{layer}" for kind in "EAD" for layer in (1, 2)}


def test_every_site_calls_its_output_projection(data):
    trainer = make_trainer(data)
    calls = []
    for live in find_sites(trainer.model):
        live.output.register_forward_pre_hook(lambda *_, site=live.site: calls.append(str(site)))
    trainer.train_step([batch(trainer, range(4))])
    assert sorted(calls) == sorted(SITES)


def test_open_sites_agree_with_the_stock_model(data):
    arguments = ("--dropout", "0")
    ours, stock = make_trainer(data, *arguments), make_trainer(data, *arguments, task="translation")
    for trainer in (ours, stock):
        trainer.train_step([batch(trainer, range(8))])
    expected = gradients(stock)
    for name, gradient in gradients(ours).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-4, atol=1e-6)


def test_fused_projections_are_refused(data):
    model = make_trainer(data).model
    attention = model.encoder.layers[0].self_attn
    del attention.k_proj
    attention.in_proj_weight = nn.Parameter(torch.zeros(48, 16))
    with pytest.raises(HeadroomError, match="site E1: no k_proj"):
        open_sites(model)
