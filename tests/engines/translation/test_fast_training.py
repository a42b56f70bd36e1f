"""The fused parts of training compute what fairseq's own do."""

from types import SimpleNamespace

import pytest
import torch
from headroom.engines.translation import loss as module
from headroom.engines.translation.loss import QuickDropout, smoothed_loss
from headroom.engines.translation.optimizer import FusedAdam
from torch.nn.functional import dropout

from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss  # isort: skip
from fairseq.optim.adam import FairseqAdam  # isort: skip


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [4, 100])
def test_loss_and_gradients_are_fairseqs(monkeypatch, smoothing, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    generator = torch.Generator().manual_seed(1)
    features, weight = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in ((11, 5), (7, 5))
    )
    target = torch.randint(0, 7, (11,), generator=generator)
    expected = label_smoothed_nll_loss((features @ weight.T).log_softmax(-1), target, smoothing)
    wanted = torch.autograd.grad(3 * expected[0], (features, weight))
    found = smoothed_loss(features, weight, target, smoothing)
    torch.testing.assert_close(torch.stack(found), torch.stack(expected))
    torch.testing.assert_close(torch.autograd.grad(3 * found[0], (features, weight)), wanted)
    with torch.no_grad():
        torch.testing.assert_close(torch.stack(smoothed_loss(features, weight, target, smoothing)), torch.stack(found))


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_has_its_rate_and_keeps_the_mean(rate):
    torch.manual_seed(1)
    states = torch.ones(333, 301, requires_grad=True)
    layer = QuickDropout(rate)
    dropped = layer(states)
    values = dropped.unique()
    assert values[0] == 0
    assert values[1:].tolist() == pytest.approx([1 / (1 - rate)], rel=1e-4)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
    (slope,) = torch.autograd.grad(dropped.sum(), states)
    assert torch.equal(slope, dropped)
    columns, rows = ((dropped == 0).float().mean(place) for place in (0, 1))  # as spread as torch's
    torch.manual_seed(2)
    theirs = (dropout(states, rate) == 0).float()
    assert columns.std().item() == pytest.approx(theirs.mean(0).std().item(), rel=0.25)
    assert rows.std().item() == pytest.approx(theirs.mean(1).std().item(), rel=0.25)
    again = layer(states)
    assert not torch.equal(again, dropped)
    torch.manual_seed(1)
    assert torch.equal(layer(states), dropped)
    assert layer.eval()(states) is states


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
        for gradients in slopes:
            for weight, gradient in zip(weights, gradients):
                weight.grad = gradient.clone()
            optimizer.optimizer.step()
        ends.append([weight.detach() for weight in weights])
    torch.testing.assert_close(*ends, rtol=1e-5, atol=1e-6)
