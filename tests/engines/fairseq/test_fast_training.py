"""The fused parts of training compute what fairseq's own do."""

from types import SimpleNamespace

import pytest
import torch
from fairseq_models import batch, gradients, make_trainer
from headroom.core.errors import HeadroomError
from headroom.training.fairseq.optimizer import FusedAdam
from headroom.training.fairseq.sites import attend, find_sites, open_sites
from torch import nn

from fairseq.optim.adam import FairseqAdam  # isort: skip


@pytest.mark.parametrize("kind", ["all", "causal", "masked", "one query"])
def test_attention_is_that_of_a_slow_loop(kind):
    for keys in (1, 3, 15, 16, 17, 34):
        compare_attention(keys, kind)


def compare_attention(keys, kind):
    generator = torch.Generator().manual_seed(keys)
    rows = 1 if kind == "one query" else keys
    q, k, v = (
        torch.randn(size, 3, 2 * 4, generator=generator, dtype=torch.float64)  # (T, B, H * d)
        .unflatten(-1, (2, 4))
        .permute(1, 2, 0, 3)
        .requires_grad_()
        for size in (rows, keys, keys)
    )
    counts = torch.rand(3, 1, 1, keys, generator=generator) < 0.6
    counts[..., keys // 2] = True
    mask = counts if kind in ("masked", "one query") else None
    found = attend(q, k, v, mask=mask, causal=kind == "causal")
    expected = torch.zeros_like(q)
    for row, head, place in torch.cartesian_prod(torch.arange(3), torch.arange(2), torch.arange(rows)).tolist():
        seen = [
            key for key in range(keys) if (kind != "causal" or key <= place) and (mask is None or mask[row, 0, 0, key])
        ]
        scores = torch.stack([q[row, head, place] @ k[row, head, key] / 2 for key in seen])
        weights = scores.exp() / scores.exp().sum()
        expected[row, head, place] = sum(weight * v[row, head, key] for weight, key in zip(weights, seen))
    torch.testing.assert_close(found, expected)
    outer = torch.randn(found.shape, generator=generator, dtype=torch.float64)
    wanted = torch.autograd.grad((outer * expected).sum(), (q, k, v))
    torch.testing.assert_close(torch.autograd.grad((outer * found).sum(), (q, k, v)), wanted)


def test_attention_drops_weights_and_keeps_their_mean():
    torch.manual_seed(1)
    q, k = torch.zeros(1, 1, 400, 2), torch.zeros(1, 1, 20, 2)
    found = attend(q, k, torch.ones(1, 1, 20, 2), dropout=0.25)[0, 0, :, 0]  # (400,)
    assert found.mean().item() == pytest.approx(1, abs=0.02)
    shares = (found * 0.75 * 20).round()
    torch.testing.assert_close(found, shares / 15)
    assert len(shares.unique()) > 5


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_is_fairseqs(decay):
    cfg = SimpleNamespace(lr=[0.01], adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=decay)
    cfg.use_old_adam, cfg.fp16_adam_stats, cfg.tpu = True, False, False
    generator = torch.Generator().manual_seed(1)
    starts = [torch.randn(4, 3, generator=generator, dtype=torch.float64), torch.randn(5, generator=generator)]
    slopes = [[torch.randn(start.shape, generator=generator).to(start) for start in starts] for _ in range(20)]
    ends = []
    for kind in (FairseqAdam, FusedAdam):
        weights = [torch.nn.Parameter(start.clone()) for start in starts]
        optimizer = kind(cfg, weights)
        for slope in slopes:
            for weight, gradient in zip(weights, slope):
                weight.grad = gradient.clone()
            optimizer.optimizer.step()
        ends.append([weight.detach() for weight in weights])
    torch.testing.assert_close(*ends, rtol=1e-5, atol=1e-6)


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
