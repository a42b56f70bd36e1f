"""Training with fairseq in this project: the command line, the task, and the Trainer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.models.removal import remove_heads
from headroom.models.sites import site_names
from headroom.settings.arms import AnyArm, Arm
from headroom.settings.models import ModelSettings, TrainingSettings
from headroom.training.fairseq import library as _engine  # noqa: F401 (imports fairseq quietly)
from headroom.training.fairseq import optimizer as _optimizer  # noqa: F401 (registers the learning rate's schedule)
from headroom.training.fairseq.library import TransformerModel
from headroom.training.fairseq.sites import find_sites, open_sites
from headroom.training.processes import own_seed, this_process
from headroom.training.resumable import check_precision

from fairseq import metrics, options, tasks, utils  # isort: skip
from fairseq.dataclass import ChoiceEnum  # isort: skip
from fairseq.dataclass.configs import FairseqConfig  # isort: skip
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # isort: skip
from fairseq.models.transformer import TransformerConfig  # isort: skip
from fairseq.optim import AMPOptimizer, FairseqOptimizer  # isort: skip
from fairseq.tasks import register_task  # isort: skip
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # isort: skip
from fairseq.trainer import Trainer  # isort: skip

Sample = dict[str, Any]
"""A batch of a training, as fairseq makes it."""

Losses = tuple[Tensor, int, dict[str, Any]]
"""The loss of a batch, (), the number of targets, and the logged values."""

Criterion = Callable[[TransformerModel, Sample], Losses]

PLAIN_NORM = "plain_head_gnorm"
"""Name under which an optimizer that rewrites the gradients of heads logs their original norm."""

RATIO = "repulsion_ratio"
"""Name under which it logs the ratio of repulsion to gradient."""


def shape_model(model: ModelSettings, arm: Arm) -> ModelSettings:
    """Return the shape of a model in an arm; raise HeadroomError if the arm's heads do not divide the width."""
    changed = {name: getattr(arm, name) for name in AnyArm.model_fields if getattr(arm, name) is not None}
    if arm.heads and model.width % arm.heads:
        raise HeadroomError(f"--arm-heads {arm.heads}: does not divide the width {model.width}; give a divisor")
    return ModelSettings.model_validate({**model.model_dump(), **changed})


def fairseq_arguments(
    *,
    data: Path,
    model: ModelSettings,
    training: TrainingSettings,
    seed: int,
    device: str,
    arm: list[str],
    processes: int = 1,
) -> list[str]:
    """Return the command line of `fairseq-train` for a run.

    Several processes share the batches of an update equally, so that an update has the same batches for any number of
    processes. `arm` are the arm's arguments: optimizer, criterion and their flags.

    Raises:
        HeadroomError: If CUDA is required but missing, or processes cannot share an update.
    """
    on_cpu = check_precision(training.precision, device)
    if training.update_frequency % processes:
        raise HeadroomError(
            f"update_frequency: {processes} processes cannot share {training.update_frequency} batches; make "
            f"it a multiple of {processes}, and max_tokens smaller by the same factor"
        )
    flags = {"seed": seed, **_model_flags(model), **_training_flags(training)}
    flags |= {"distributed-world-size": processes, "update-freq": training.update_frequency // processes}
    flags["ddp-backend"] = (
        "legacy_ddp"  # sums gradients after the backward passes, also on the CPU and for missing gradients
    )
    if on_cpu:  # no thread that prepares batches: were memory missing as it starts, Python would wait for it for ever
        flags["data-buffer-size"] = 0
    switches = ["no-progress-bar", *(["cpu"] if on_cpu else []), *(["amp"] if training.precision == "float16" else [])]
    switches += ["encoder-normalize-before", "decoder-normalize-before"] if model.pre_norm else []
    switches += ["share-all-embeddings"] if model.share_embeddings else []
    named = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    return [str(data), *named, *(f"--{name}" for name in switches), *arm]


def _model_flags(model: ModelSettings) -> dict[str, object]:
    both_sides = {
        "attention-heads": model.heads,
        "embed-dim": model.width,
        "ffn-embed-dim": model.feed_forward,
    }
    return {
        "task": "headroom_translation",
        "source-lang": "source",
        "target-lang": "target",
        "arch": "transformer",
        "encoder-layers": model.encoder_layers,
        "decoder-layers": model.decoder_layers,
        **{f"{side}-{name}": value for side in ("encoder", "decoder") for name, value in both_sides.items()},
        "dropout": model.dropout,
        "attention-dropout": model.attention_dropout,
    }


def _training_flags(training: TrainingSettings) -> dict[str, object]:
    annealed = {
        "lr-scheduler": "annealed_inverse_sqrt",
        "annealed-share": training.annealed_share,
        "max-epoch": training.epochs,  # the rate depends on it
    }
    return {
        "criterion": "label_smoothed_cross_entropy",
        "label-smoothing": training.label_smoothing,
        "adam-betas": "(0.9, 0.98)",
        "weight-decay": training.weight_decay,
        "clip-norm": training.clip_norm,
        "lr": training.learning_rate,
        "lr-scheduler": "inverse_sqrt",
        **(annealed if training.annealed_share else {}),
        "warmup-updates": training.warmup_updates,
        "warmup-init-lr": 1e-7,
        "max-tokens": training.max_tokens,
        # Form the batches of each epoch from seed and epoch only: fairseq keeps the batches of the epoch in which a
        # process started, so that a resumed training would have other batches than an uninterrupted one.
        "update-epoch-batch-itr": True,
        "num-workers": 0,
        "log-format": "none",
        **({"precision": training.precision} if training.precision in ("bfloat16", "tf32") else {}),
    }


@dataclass
class HeadroomTranslationConfig(TranslationConfig):
    """Options of fairseq's translation task, and the precision of the forward pass."""

    precision: ChoiceEnum(["float32", "tf32", "bfloat16"]) = field(  # type: ignore[valid-type]
        default="float32", metadata={"help": "number format of the forward pass"}
    )


@register_task("headroom_translation", dataclass=HeadroomTranslationConfig)
class HeadroomTranslationTask(TranslationTask):
    """Translation with sites open to hooks and known to the optimizer."""

    def build_model(self, cfg: TransformerConfig, from_checkpoint: bool = False) -> TransformerModel:
        """Build the model and open its sites.

        Raises:
            HeadroomError: If a site fuses its projections, so that its heads have no rows of their own.
        """
        model: TransformerModel = super().build_model(cfg, from_checkpoint)
        open_sites(model)
        return model

    def train_step(
        self,
        sample: Sample,
        model: TransformerModel,
        criterion: Criterion,
        optimizer: FairseqOptimizer,
        update_num: int,
        **more: bool,
    ) -> Losses:
        """Run forward and backward of one batch; see fairseq's task."""
        within = self._in_precision(model, criterion)
        return super().train_step(sample, model, within, optimizer, update_num, **more)

    def valid_step(self, sample: Sample, model: TransformerModel, criterion: Criterion) -> Losses:
        """Compute the loss of one batch; see fairseq's task."""
        return super().valid_step(sample, model, self._in_precision(model, criterion))

    def optimizer_step(self, optimizer: FairseqOptimizer, model: TransformerModel, update_num: int) -> None:
        """Update the weights; see fairseq's task."""
        if isinstance(optimizer, AMPOptimizer):
            optimizer.scaler.step(optimizer.optimizer)  # the object whose gradients were unscaled
            optimizer.scaler.update()
        else:
            super().optimizer_step(optimizer, model, update_num)

    def _in_precision(self, model: TransformerModel, criterion: Criterion) -> Criterion:
        if str(self.cfg.precision) != "bfloat16":
            return criterion
        device = next(model.parameters()).device.type

        def compute(model: TransformerModel, sample: Sample) -> Losses:
            with torch.autocast(device, dtype=torch.bfloat16):
                return criterion(model, sample)

        return compute


def configuration(arguments: list[str]) -> FairseqConfig:
    """Return fairseq's configuration for a command line."""
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=arguments))


def build_trainer(cfg: FairseqConfig, profile: str = "") -> Trainer:
    """Return fairseq's Trainer with task, model and criterion, seeded as in `fairseq-train`.

    The heads of a profile are sliced out before training; HeadroomError if the model has no such head.
    """
    utils.import_user_module(cfg.common)
    metrics.reset()
    numpy.random.seed(cfg.common.seed)
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    if profile:
        _slice(model, profile)
    task.load_dataset("valid", combine=False, epoch=1)
    return _Trainer(cfg, task, model, task.build_criterion(cfg.criterion))


class _Trainer(Trainer):
    """fairseq's Trainer with separate dropout per process and an error message for non-finite gradients."""

    def _set_seed(self) -> None:
        utils.set_torch_seed(own_seed(self.cfg.common.seed + self.get_num_updates(), this_process()))

    def clip_grad_norm(self, clip_norm: float) -> Tensor:
        try:
            norm: Tensor = super().clip_grad_norm(clip_norm)
            finite = bool(torch.isfinite(norm)) or self.cfg.common.amp  # AMP reduces its loss scale
        except FloatingPointError:  # at its minimum
            finite = False
        if not finite:  # fairseq's own diagnosis fails
            raise HeadroomError(
                f"update {self.get_num_updates() + 1}: the gradients are not finite; lower training.learning_rate, "
                "or use precision float32"
            )
        return norm


def _slice(model: TransformerModel, profile: str) -> None:
    sites = find_sites(model)
    remove_heads(sites, parse_profile(profile, site_names(sites)))
