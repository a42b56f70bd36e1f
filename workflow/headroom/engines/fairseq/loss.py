"""The label-smoothed cross-entropy of training, whose logits stay in the processor's cache, and quick dropout."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from headroom.engines.fairseq.library import TransformerModel

from fairseq.criterions import register_criterion  # isort: skip
from fairseq.criterions.label_smoothed_cross_entropy import (  # isort: skip
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.modules.fairseq_dropout import FairseqDropout  # isort: skip

Sample = dict[str, Any]
"""A batch of a training, as fairseq makes it."""

Losses = tuple[Tensor, int, dict[str, Any]]
"""The loss of a batch, (), the number of targets, and the logged values."""

CHUNK = 128
"""Positions whose logits exist at a time."""

_STEPS = 2**16
"""Dropout has probabilities of k / _STEPS."""


class _SmoothedLoss(torch.autograd.Function):
    """From features (N, D), output weights (V, D) and targets (N,) to the sums of smoothed loss and loss, in nats.

    With smoothing s and e = s / (V - 1), the loss of a position is (1 - s - e) nll + e * (sum of all nll), and its
    gradient with respect to the logits softmax - (1 - s - e) * target - e. Gradients are computed in the forward pass.
    """

    @staticmethod
    def forward(
        context: Any, features: Tensor, weight: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        classes = len(weight)
        each = smoothing / (classes - 1)
        certain = 1.0 - smoothing - each
        needed = any(context.needs_input_grad)
        by_features = torch.empty_like(features) if needed else None
        by_weight = torch.zeros_like(weight) if needed else None
        smoothed, nats = features.new_zeros(()), features.new_zeros(())
        for own, wanted, start in zip(features.split(CHUNK), target.split(CHUNK), range(0, len(features), CHUNK)):
            logits = own @ weight.T  # (n, V)
            odds = logits.softmax(-1)
            # the largest probability never underflows; `logsumexp` would take the exponentials a second time
            total = logits.amax(-1, keepdim=True) - odds.amax(-1, keepdim=True).log()  # (n, 1)
            nll = total - logits.gather(1, wanted[:, None])
            nats += nll.sum()
            smoothed += certain * nll.sum() + each * (classes * total.sum() - logits.sum())
            if by_features is not None and by_weight is not None:
                slope = odds.sub_(each)
                slope.scatter_add_(1, wanted[:, None], torch.full_like(nll, -certain))
                torch.mm(slope, weight, out=by_features[start : start + CHUNK])
                by_weight.addmm_(slope.T, own)
        context.save_for_backward(by_features, by_weight)
        context.mark_non_differentiable(nats)
        return smoothed, nats

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        by_features, by_weight = context.saved_tensors
        return by_features * outer, by_weight * outer, None, None


def smooth_loss(features: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the summed label-smoothed loss and the summed loss of positions in nats, () each.

    Args:
        features: The decoder's last states, (N, D).
        weight: The output projection, (V, D).
        target: The references' pieces, (N,).
        smoothing: The share of the target's probability that all other pieces share.
    """
    smoothed, nats = _SmoothedLoss.apply(features, weight, target, smoothing)
    return smoothed, nats


@register_criterion("chunked_cross_entropy", dataclass=LabelSmoothedCrossEntropyCriterionConfig)
class ChunkedCrossEntropy(LabelSmoothedCrossEntropyCriterion):
    """fairseq's label-smoothed cross-entropy by `smoothed_loss` in float32; by fairseq in other precisions."""

    def forward(self, model: TransformerModel, sample: Sample, reduce: bool = True) -> Losses:
        """Return the loss of a batch, the number of targets and the logged values; see fairseq's criterion."""
        output = model.decoder.output_projection
        device = sample["target"].device.type
        if not reduce or torch.is_autocast_enabled(device) or output.bias is not None:
            plain: Losses = super().forward(model, sample, reduce)
            return plain
        states, _ = model(**sample["net_input"], features_only=True)  # (B, T, D)
        real = sample["target"].ne(self.padding_idx)  # (B, T)
        loss, nats = smooth_loss(states[real], output.weight, sample["target"][real], self.eps)
        targets = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logged = {
            "loss": loss.data,
            "nll_loss": nats.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": targets,
        }
        return loss, targets, logged


class QuickDropout(FairseqDropout):
    """Dropout with four random numbers of 16 bits from each draw, in a quarter of the time on a CPU."""

    def forward(self, states: Tensor, inplace: bool = False) -> Tensor:  # noqa: ARG002
        """Return states of which each is zero with probability p, and otherwise divided by 1 - p."""
        if not (self.p > 0 and self.training):
            return states
        if states.device.type != "cpu":
            return nn.functional.dropout(states, self.p)
        dropped = round(self.p * _STEPS)
        draws = torch.empty(-(-states.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: states.numel()].view(states.shape)
        kept = (bits >= dropped - _STEPS // 2).to(states.dtype)
        return states * kept.mul_(_STEPS / (_STEPS - dropped))


def quicken(model: nn.Module) -> None:
    """Let a Transformer of fairseq use `QuickDropout`, in place."""
    for module in model.modules():
        if type(module) is FairseqDropout:
            module.__class__ = QuickDropout
