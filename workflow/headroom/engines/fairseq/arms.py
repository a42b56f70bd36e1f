"""Arms of trainings by fairseq: its loss with additional terms, and Adam with repulsion."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import Site, format_profile, parse_profile, random_profile
from headroom.engines.fairseq.library import TransformerModel
from headroom.engines.fairseq.loss import ChunkedCrossEntropy, Losses, Sample
from headroom.engines.fairseq.optimizer import FusedAdam
from headroom.engines.fairseq.sites import attention_maps, find_site, find_sites
from headroom.engines.fairseq.trainer import PLAIN_NORM, RATIO, HeadroomTranslationTask, shape_model
from headroom.engines.fairseq.training import TranslationTraining
from headroom.engines.maps import Positions
from headroom.engines.repulsion.particles import GradientRewriter
from headroom.engines.repulsion.regularisers import regulariser
from headroom.engines.sites import Projections, gradient_norm
from headroom.engines.training import Regulariser
from headroom.settings.arms import Arm, ArmSettings, ForwardArm, GradientArm

from fairseq.criterions import register_criterion  # isort: skip
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterionConfig  # isort: skip
from fairseq.logging import metrics  # isort: skip
from fairseq.optim import register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdamConfig  # isort: skip

_PRECISION = "train with --amp or --precision bfloat16 instead of --fp16 or --bf16"


def _read_arm(flag: str, text: str) -> Arm:
    """Read an arm from fairseq's options."""
    try:
        arm: Arm = TypeAdapter(ArmSettings).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise HeadroomError(
            f'{flag} {text}: {place}: {first["msg"]}; write an arm as JSON, e.g. {{"method": "svgd"}}'
        ) from error
    return arm


@dataclass
class RegularisedCrossEntropyConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """Options of fairseq's criterion, and of the arm."""

    regularisation: str = field(
        default='{"method": "drophead"}',
        metadata={"help": """an arm as JSON: '{"method": "drophead", "rate": 0.1, "sites": ["E"]}'"""},
    )
    regularisation_seed: int = field(default=1, metadata={"help": "seed of randomly dropped heads"})


@register_criterion("regularised_cross_entropy", dataclass=RegularisedCrossEntropyConfig)
class RegularisedCrossEntropy(ChunkedCrossEntropy):
    """Label-smoothed cross-entropy of a model whose heads an arm acts on."""

    def __init__(self, task: HeadroomTranslationTask, cfg: RegularisedCrossEntropyConfig) -> None:
        super().__init__(task, cfg.sentence_avg, cfg.label_smoothing, cfg.ignore_prefix_size, cfg.report_accuracy)
        arm = _read_arm("--regularisation", cfg.regularisation)
        if not isinstance(arm, ForwardArm):
            raise HeadroomError(
                f"--regularisation: the method {arm.method} does not act on the forward pass; use --repulsion"
            )
        self._arm = arm
        self._seed = cfg.regularisation_seed
        self._regulariser: Regulariser | None = None

    def forward(self, model: TransformerModel, sample: Sample, reduce: bool = True) -> Losses:
        """Return the loss of a batch, the number of targets and the logged values; see fairseq's criterion."""
        if not self.training:
            return super().forward(model, sample, reduce)
        plain = super().forward
        (loss, targets, logged), term = self._of(model)(
            lambda: plain(model, sample, reduce), self._real(sample), update=self.task.update, batch=self.task.batch
        )
        return loss + term * targets, targets, logged

    def _of(self, model: TransformerModel) -> Regulariser:
        if self._regulariser is None:
            sites = find_sites(model)
            self._regulariser = regulariser(self._arm, sites, attention_maps, seed=self._seed, batch_first=False)
        return self._regulariser

    def _real(self, sample: Sample) -> Positions:
        source = sample["net_input"]["src_tokens"].ne(self.padding_idx)  # (B, S)
        target = sample["target"].ne(self.padding_idx)  # (B, T)
        return {"E": (source, source), "A": (target, source), "D": (target, target)}


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
        arm = _read_arm("--repulsion", cfg.repulsion)
        if not isinstance(arm, GradientArm):
            raise HeadroomError(
                f"--repulsion: the method {arm.method} does not rewrite gradients; use --regularisation"
            )
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
    """Return the fairseq arguments for optimizer and criterion of an arm; they follow all others."""
    written = arm.model_dump_json(exclude={"heads", "attention_dropout"})
    if arm.method == "baseline":
        return ["--optimizer", "fused_adam"]
    if isinstance(arm, GradientArm):
        return ["--optimizer", "repulsive_adam", "--repulsion", written, "--repulsion-seed", str(seed)]
    named = ["--regularisation", written, "--regularisation-seed", str(seed)]
    return ["--optimizer", "fused_adam", "--criterion", "regularised_cross_entropy", *named]


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
