"""Adam of fairseq's trainings by torch's fused kernel."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from headroom.engines.translation import fairseq as _engine  # noqa: F401 (imports fairseq quietly)

from fairseq.optim import FairseqOptimizer, register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig  # isort: skip


@register_optimizer("fused_adam", dataclass=FairseqAdamConfig)
class FusedAdam(FairseqAdam):
    """fairseq's Adam with decoupled weight decay, one call for all weights.

    It differs from fairseq's only in the first updates, by the share of `eps` in the denominator.
    """

    def __init__(self, cfg: Any, params: Iterable[nn.Parameter]) -> None:
        FairseqOptimizer.__init__(self, cfg)
        self._optimizer = torch.optim.AdamW(list(params), fused=True, **self.optimizer_config)
