"""The fairseq task: sites open to hooks, weights tagged with their site, autocast."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.sites import find_sites, open_sites
from headroom.engines.fairseq.trainer import shape_model
from headroom.settings.arms import BaselineArm, DropHeadArm, SvgdArm
from headroom.settings.models import ModelSettings
from torch import nn
from toy_fairseq import batch, gradients, make_trainer

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


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_bfloat16_alone_computes_in_another_precision_with_float32_weights(data, precision):
    trainer, seen = make_trainer(data, "--precision", precision), []
    trainer.model.encoder.layers[0].fc1.register_forward_hook(lambda *seen_by: seen.append(seen_by[-1].dtype))
    trainer.train_step([batch(trainer, range(8))])
    trainer.valid_step(batch(trainer, range(8)))
    assert seen == [torch.bfloat16 if precision == "bfloat16" else torch.float32] * 2
    assert {weight.dtype for weight in trainer.model.parameters()} == {torch.float32}
    assert all(gradient.dtype == torch.float32 for gradient in gradients(trainer).values())


def test_fused_projections_are_refused(data):
    model = make_trainer(data).model
    attention = model.encoder.layers[0].self_attn
    del attention.k_proj
    attention.in_proj_weight = nn.Parameter(torch.zeros(48, 16))
    with pytest.raises(HeadroomError, match="site E1: no k_proj"):
        open_sites(model)


class TestShape:
    model = ModelSettings(heads=8, width=64, attention_dropout=0.1, dropout=0.2)

    @pytest.mark.parametrize("arm", [BaselineArm(), SvgdArm(), DropHeadArm()])
    def test_that_of_the_model_unless_an_arm_says_otherwise(self, arm):
        assert shape_model(self.model, arm) == self.model

    def test_heads_and_dropout_of_an_arm(self):
        assert shape_model(self.model, SvgdArm(heads=16)) == self.model.model_copy(update={"heads": 16})
        expected = self.model.model_copy(update={"heads": 1, "attention_dropout": 0.0})
        assert shape_model(self.model, BaselineArm(heads=1, attention_dropout=0.0)) == expected

    def test_heads_that_do_not_divide_the_width(self):
        with pytest.raises(HeadroomError, match="--arm-heads 12: does not divide the width 64"):
            shape_model(self.model, BaselineArm(heads=12))
