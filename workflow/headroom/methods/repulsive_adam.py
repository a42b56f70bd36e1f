"""The fairseq optimizer `repulsive_adam`: Adam on gradients of heads that an arm rewrites.

Once per update the gradients of the query, key and value weights are rewritten by `headroom.methods.particles`:
after the backward passes, accumulation, averaging over the batch and (under `--amp`) unscaling, and before
clipping and Adam. All other parameters keep their gradients.

It needs the task `headroom_translation`, which tells it where the heads are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Site
from headroom.methods.particles import GradientRewriter
from headroom.models.projections import Projections, gradient_norm
from headroom.models.translation.task import site_of
from headroom.models.translation.training import PLAIN_NORM
from headroom.settings.arms import GradientArm, parse_arm

from fairseq.logging import metrics  # isort: skip
from fairseq.optim import register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig  # isort: skip

_PRECISION = "train with --amp or --precision bfloat16 instead of --fp16 or --bf16"


@dataclass
class RepulsiveAdamConfig(FairseqAdamConfig):
    """Options of fairseq's Adam, and how the gradients of heads are rewritten."""

    repulsion: str = field(
        default="method=svgd", metadata={"help": "method and settings: 'method=svgd alpha=0.01 stepsize=0.01 sites=E'"}
    )
    repulsion_seed: int = field(default=1, metadata={"help": "seed of methods with noise"})


@register_optimizer("repulsive_adam", dataclass=RepulsiveAdamConfig)
class RepulsiveAdam(FairseqAdam):
    """fairseq's Adam with repulsion between the heads of each site."""

    def __init__(self, cfg: Any, params: Iterable[nn.Parameter]) -> None:
        super().__init__(cfg, params)
        _, arm = parse_arm(["--repulsion", *cfg.repulsion.split()])
        if not isinstance(arm, GradientArm):
            raise HeadroomError(f"--repulsion: the method {arm.method} does not rewrite gradients")
        projections: dict[Site, list[nn.Parameter]] = defaultdict(list)
        for weight in self.params:
            if (site := site_of(weight)) is not None:
                projections[site].append(weight)
        self._heads = [weight for found in projections.values() for weight in found]
        self._rewriter = _rewriter(projections, arm, cfg.repulsion_seed) if arm.strength > 0 else None

    def clip_grad_norm(self, max_norm: float, aggregate_norm_fn: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Rewrite the gradients, then clip them; fairseq calls this once per update, before the step."""
        if self._rewriter:
            metrics.log_scalar(PLAIN_NORM, gradient_norm(self._heads))
            self._rewriter.rewrite(self._updates())
        return super().clip_grad_norm(max_norm, aggregate_norm_fn)

    def _updates(self) -> int:
        """Return the number of updates made so far; Adam's state, and so every checkpoint, knows it."""
        return max((int(state.get("step", 0)) for state in self.optimizer.state.values()), default=0)


def _rewriter(projections: Projections, arm: Any, seed: int) -> GradientRewriter:
    try:
        return GradientRewriter(projections, arm, seed=seed)
    except HeadroomError as error:
        raise HeadroomError(f"repulsive_adam, with --task headroom_translation: {error}\n{_PRECISION}") from error
