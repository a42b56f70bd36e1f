"""Arms of trainings by fairseq: Adam with repulsion."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import Site, format_profile, parse_profile, random_profile
from headroom.models.sites import Projections, gradient_norm
from headroom.settings.arms import Arm, BaselineArm, GradientArm
from headroom.training.fairseq.optimizer import FusedAdam
from headroom.training.fairseq.sites import find_site
from headroom.training.fairseq.trainer import PLAIN_NORM, RATIO, shape_model
from headroom.training.fairseq.training import TranslationTraining
from headroom.training.repulsion.particles import GradientRewriter

from fairseq.logging import metrics  # isort: skip
from fairseq.optim import register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdamConfig  # isort: skip

_PRECISION = "train with --amp or --precision bfloat16 instead of --fp16 or --bf16"


def _read_arm(text: str) -> GradientArm:
    """Read an arm from fairseq's option `--repulsion`."""
    try:
        arm: GradientArm = TypeAdapter(Annotated[GradientArm, Field(discriminator="method")]).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise HeadroomError(
            f'--repulsion {text}: {place}: {first["msg"]}; write an arm as JSON, e.g. {{"method": "svgd"}}'
        ) from error
    return arm


@dataclass
class RepulsiveAdamConfig(FairseqAdamConfig):
    """Options of fairseq's Adam, and of the rewriting of the heads' gradients."""

    repulsion: str = field(
        default='{"method": "svgd"}',
        metadata={"help": """an arm as JSON: '{"method": "svgd", "alpha": 0.01, "sites": ["E"]}'"""},
    )
    repulsion_seed: int = field(default=1, metadata={"help": "seed of methods with noise"})


@register_optimizer("repulsive_adam", dataclass=RepulsiveAdamConfig)
class RepulsiveAdam(FusedAdam):
    """fairseq's Adam with repulsion between the heads of each site."""

    def __init__(self, cfg: RepulsiveAdamConfig, params: Iterable[nn.Parameter]) -> None:
        super().__init__(cfg, params)
        arm = _read_arm(cfg.repulsion)
        projections: dict[Site, list[nn.Parameter]] = defaultdict(list)
        for weight in self.params:
            if (site := find_site(weight)) is not None:
                projections[site].append(weight)
        self._heads = [weight for found in projections.values() for weight in found]
        self._rewriter = _rewriter(projections, arm, cfg.repulsion_seed) if arm.strength > 0 else None

    def clip_grad_norm(self, max_norm: float, aggregate_norm_fn: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Rewrite the gradients, then clip them; fairseq calls this once per update, before the step."""
        if self._rewriter:
            metrics.log_scalar(PLAIN_NORM, gradient_norm(self._heads))
            ratio = self._rewriter.rewrite(self._updates())
            if ratio is not None:
                metrics.log_scalar(RATIO, ratio)
        return super().clip_grad_norm(max_norm, aggregate_norm_fn)

    def _updates(self) -> int:
        """Return the number of updates so far; it is part of Adam's state, and so of every checkpoint."""
        return max((int(state.get("step", 0)) for state in self.optimizer.state.values()), default=0)


def _rewriter(projections: Projections, arm: GradientArm, seed: int) -> GradientRewriter:
    try:
        return GradientRewriter(projections, arm, seed=seed)
    except HeadroomError as error:
        raise HeadroomError(f"repulsive_adam, with --task headroom_translation: {error}\n{_PRECISION}") from error


def arm_arguments(arm: Arm, seed: int) -> list[str]:
    """Return the fairseq arguments for the optimizer of an arm; they follow all others."""
    if isinstance(arm, BaselineArm):
        return ["--optimizer", "fused_adam"]
    written = arm.model_dump_json(exclude={"heads", "attention_dropout"})
    return ["--optimizer", "repulsive_adam", "--repulsion", written, "--repulsion-seed", str(seed)]


def training(*, profile: Path | None = None, random_draw: int = 0, **parts: Any) -> TranslationTraining:
    """Return the training of a run in an arm, or of a layout of heads.

    Args:
        profile: File with the names of removed heads; None for all heads.
        random_draw: From 1: the same number of heads, of this random draw, is removed; 0 for the named heads.
        parts: The other arguments of the training.
    """
    removed = " ".join(read_lines(profile)) if profile else ""
    if random_draw:
        sites = shape_model(parts["model"], parts["arm"]).sites
        drawn = random_profile(sites, len(parse_profile(removed, sites)), 1000 * parts["seed"] + random_draw)
        removed = format_profile(drawn)
    return TranslationTraining(arm_arguments=arm_arguments, removed=removed, **parts)
