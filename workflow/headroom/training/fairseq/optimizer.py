"""Adam of fairseq's trainings by torch's fused kernel, and a learning rate that ends at zero."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import nn

from headroom.training.fairseq import library as _engine  # noqa: F401 (imports fairseq quietly)

from fairseq.optim import FairseqOptimizer, register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig  # isort: skip
from fairseq.optim.lr_scheduler import register_lr_scheduler  # isort: skip
from fairseq.optim.lr_scheduler.inverse_square_root_schedule import (  # isort: skip
    InverseSquareRootLRScheduleConfig,
    InverseSquareRootSchedule,
)


@register_optimizer("fused_adam", dataclass=FairseqAdamConfig)
class FusedAdam(FairseqAdam):
    """fairseq's Adam with decoupled weight decay, one call for all weights.

    It differs from fairseq's only in the first updates, by the share of `eps` in the denominator.
    """

    def __init__(self, cfg: FairseqAdamConfig, params: Iterable[nn.Parameter]) -> None:
        FairseqOptimizer.__init__(self, cfg)
        self._optimizer = torch.optim.AdamW(list(params), fused=True, **self.optimizer_config)


@dataclass
class AnnealedInverseSqrtConfig(InverseSquareRootLRScheduleConfig):
    """Options of fairseq's inverse square root schedule, and of its end."""

    annealed_share: float = field(
        default=0.0, metadata={"help": "share of all updates, the last ones, in which the rate falls linearly to zero"}
    )


@register_lr_scheduler("annealed_inverse_sqrt", dataclass=AnnealedInverseSqrtConfig)
class AnnealedInverseSqrt(InverseSquareRootSchedule):
    """fairseq's inverse square root schedule, from whose value the rate falls linearly to zero at the end.

    It is a function of the number of updates, so that resumed trainings have the same rates.

    Attributes:
        total: All updates of the training; 0 if unknown, for no fall.
    """

    total = 0

    def step_update(self, num_updates: int) -> float:
        """Set and return the learning rate after a number of updates."""
        start = round((1 - self.cfg.annealed_share) * self.total) if self.total else num_updates
        self.lr = super().step_update(min(num_updates, start))
        if num_updates > start:
            self.lr *= max(self.total - num_updates, 0) / (self.total - start)
            self.optimizer.set_lr(self.lr)
        return self.lr
