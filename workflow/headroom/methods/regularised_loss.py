"""The fairseq criterion `regularised_cross_entropy`: an arm that acts on the forward pass, in training.

The loss is fairseq's label-smoothed cross-entropy, with the arm's term per target added. In evaluation it is
fairseq's alone. It needs the task `headroom_translation`.
"""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from headroom.ground.errors import HeadroomError
from headroom.methods.regularisers import regulariser
from headroom.models.regularisation import RealPositions, Regulariser
from headroom.models.translation.attention_maps import attention_maps
from headroom.models.translation.sites import find_sites
from headroom.settings.arms import ForwardArm, parse_arm

from fairseq.criterions import register_criterion  # isort: skip
from fairseq.criterions.label_smoothed_cross_entropy import (  # isort: skip
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)


@dataclass
class RegularisedCrossEntropyConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """Options of fairseq's criterion, and what is done to heads."""

    regularisation: str = field(
        default="method=drophead", metadata={"help": "method and settings: 'method=drophead rate=0.1 sites=E'"}
    )
    regularisation_seed: int = field(default=1, metadata={"help": "seed of heads dropped at random"})


@register_criterion("regularised_cross_entropy", dataclass=RegularisedCrossEntropyConfig)
class RegularisedCrossEntropy(LabelSmoothedCrossEntropyCriterion):
    """Label-smoothed cross-entropy of a model whose heads an arm acts on."""

    def __init__(self, task: Any, cfg: Any) -> None:
        super().__init__(task, cfg.sentence_avg, cfg.label_smoothing, cfg.ignore_prefix_size, cfg.report_accuracy)
        _, arm = parse_arm(["--regularisation", *cfg.regularisation.split()])
        if not isinstance(arm, ForwardArm):
            raise HeadroomError(f"--regularisation: the method {arm.method} does not act on the forward pass")
        self._arm = arm
        self._seed = cfg.regularisation_seed
        self._regulariser: Regulariser | None = None

    def forward(self, model: Any, sample: Any, reduce: bool = True) -> tuple[Tensor, Any, dict[str, Any]]:
        """Return the loss of a batch, the number of targets and what is logged; see fairseq's criterion."""
        if not self.training:
            return super().forward(model, sample, reduce)
        plain = super().forward
        (loss, targets, logged), term = self._of(model)(
            lambda: plain(model, sample, reduce), self._real(sample), update=self.task.update, batch=self.task.batch
        )
        return loss + term * targets, targets, logged

    def _of(self, model: nn.Module) -> Regulariser:
        if self._regulariser is None:
            sites = find_sites(model)
            self._regulariser = regulariser(self._arm, sites, attention_maps, seed=self._seed, batch_first=False)
        return self._regulariser

    def _real(self, sample: Any) -> RealPositions:
        source = sample["net_input"]["src_tokens"].ne(self.padding_idx)  # (B, S)
        target = sample["target"].ne(self.padding_idx)  # (B, T)
        return {"E": (source, source), "A": (target, source), "D": (target, target)}
