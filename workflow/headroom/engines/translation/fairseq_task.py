"""fairseq's task and command line for this project's trainings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.engines.head_model import pick_device
from headroom.engines.processes import process_count, this_process
from headroom.engines.translation import fairseq as _engine  # noqa: F401
from headroom.engines.translation.checkpoint import find_sites
from headroom.settings.arms import AnyArm, Arm
from headroom.settings.models import ModelSettings, TrainingSettings

from fairseq.dataclass import ChoiceEnum  # isort: skip
from fairseq.optim import AMPOptimizer  # isort: skip
from fairseq.tasks import register_task  # isort: skip
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # isort: skip


def shaped(model: ModelSettings, arm: Arm) -> ModelSettings:
    """Return the shape of a model in an arm.

    Raises:
        HeadroomError: If the arm's heads do not divide the width.
    """
    changed = {name: getattr(arm, name) for name in AnyArm.model_fields if getattr(arm, name) is not None}
    if arm.heads and model.width % arm.heads:
        raise HeadroomError(f"--arm-heads {arm.heads}: width {model.width} is not a multiple of it")
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
    """Return the command line that `fairseq-train` would be given for a run.

    Several processes share the batches of an update, each having as many: an update then sees the same batches,
    however many there are.

    Args:
        data: The directory that `headroom vocabulary` wrote.
        model: The model's shape.
        training: How it is trained.
        seed: Seed of initial weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        arm: The arm's own arguments: optimizer, criterion and their flags.
        processes: Number of processes that train together.

    Raises:
        HeadroomError: If CUDA is needed and there is none, or processes cannot share an update.
    """
    on_cpu = pick_device(device).type == "cpu"
    if training.precision == "float16" and on_cpu:
        raise HeadroomError("precision float16 needs CUDA, and this run is on the CPU: use bfloat16 or float32")
    if training.update_frequency % processes:
        raise HeadroomError(
            f"{processes} processes cannot share the {training.update_frequency} batches of an update: make "
            f"update_frequency a multiple of {processes}, and max_tokens so much smaller"
        )
    flags = {"seed": seed, **_model_flags(model), **_training_flags(training), **_process_flags(training, processes)}
    switches = ["no-progress-bar", *(["cpu"] if on_cpu else []), *(["amp"] if training.precision == "float16" else [])]
    switches += ["encoder-normalize-before", "decoder-normalize-before"] if model.pre_norm else []
    switches += ["share-all-embeddings"] if model.share_embeddings else []
    named = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    return [str(data), *named, *(f"--{name}" for name in switches), *arm]


def _model_flags(model: ModelSettings) -> dict[str, Any]:
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


def _training_flags(training: TrainingSettings) -> dict[str, Any]:
    return {
        "criterion": "label_smoothed_cross_entropy",
        "label-smoothing": training.label_smoothing,
        "adam-betas": "(0.9, 0.98)",
        "weight-decay": training.weight_decay,
        "clip-norm": training.clip_norm,
        "lr": training.learning_rate,
        "lr-scheduler": "inverse_sqrt",
        "warmup-updates": training.warmup_updates,
        "warmup-init-lr": 1e-7,
        "max-tokens": training.max_tokens,
        # Cut each epoch into batches anew, by seed and epoch alone: fairseq keeps the cut of the epoch that a
        # process began with, so that a resumed training would see other batches than an uninterrupted one.
        "update-epoch-batch-itr": True,
        "num-workers": 0,
        "log-format": "none",
        **({"precision": "bfloat16"} if training.precision == "bfloat16" else {}),
    }


def _process_flags(training: TrainingSettings, processes: int) -> dict[str, Any]:
    return {
        "distributed-world-size": processes,
        "update-freq": training.update_frequency // processes,
        # Adds up gradients after the backward passes, on the CPU too, and minds no weight that has none.
        "ddp-backend": "legacy_ddp",
    }


_TAG = "headroom_site"


@dataclass
class HeadroomTranslationConfig(TranslationConfig):
    """Options of fairseq's translation task, and the precision of the forward pass."""

    precision: ChoiceEnum(["float32", "bfloat16"]) = field(  # type: ignore[valid-type]
        default="float32", metadata={"help": "number format of the forward pass (autocast)"}
    )


@register_task("headroom_translation", dataclass=HeadroomTranslationConfig)
class HeadroomTranslationTask(TranslationTask):
    """Translation with sites open to hooks and known to the optimizer.

    Attributes:
        update: Number of updates before the one in progress.
        batch: Number of batches of that update before the one in progress, those of other processes among them.
    """

    update, batch = -1, -1

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> nn.Module:
        """Build the model and open its sites.

        Raises:
            HeadroomError: If a site fuses its projections, so that its heads have no rows of their own.
        """
        model: nn.Module = super().build_model(cfg, from_checkpoint)
        open_sites(model)
        return model

    def train_step(
        self,
        sample: Any,
        model: Any,
        criterion: Any,
        optimizer: Any,
        update_num: int,
        ignore_grad: bool = False,
    ) -> Any:
        """Run forward and backward of one batch; see fairseq's task."""
        self.batch = self.batch + process_count() if update_num == self.update else this_process()
        self.update = update_num
        return super().train_step(
            sample, model, self._in_precision(model, criterion), optimizer, update_num, ignore_grad
        )

    def valid_step(self, sample: Any, model: Any, criterion: Any) -> Any:
        """Compute the loss of one batch; see fairseq's task."""
        return super().valid_step(sample, model, self._in_precision(model, criterion))

    def optimizer_step(self, optimizer: Any, model: Any, update_num: int) -> None:
        """Update the weights; see fairseq's task."""
        if isinstance(optimizer, AMPOptimizer):
            optimizer.scaler.step(optimizer.optimizer)  # the object whose gradients were unscaled
            optimizer.scaler.update()
        else:
            super().optimizer_step(optimizer, model, update_num)

    def _in_precision(self, model: nn.Module, criterion: Any) -> Callable[[Any, Any], Any]:
        if str(self.cfg.precision) != "bfloat16":
            return criterion
        device = next(model.parameters()).device.type

        def compute(model: Any, sample: Any) -> Any:
            with torch.autocast(device, dtype=torch.bfloat16):
                return criterion(model, sample)

        return compute


def open_sites(model: nn.Module) -> None:
    """Make every site of a fairseq Transformer call its output projection, and tag its weights.

    Raises:
        HeadroomError: If a site fuses its projections.
    """
    for live in find_sites(model):
        attention: Any = live.attention
        attention.skip_embed_dim_check = True  # otherwise a fused path bypasses it at most sites
        for projection in live.inputs:  # query, key, value
            weight = getattr(getattr(attention, projection, None), "weight", None)
            if not isinstance(weight, nn.Parameter):
                raise HeadroomError(
                    f"site {live.site} has no {projection}.weight: fused projections are not supported; "
                    "use an architecture with separate query, key and value projections"
                )
            setattr(weight, _TAG, live.site)


def site_of(parameter: Tensor) -> Site | None:
    """Return the site whose query, key or value weight a parameter is; None for any other parameter.

    The rows of such a weight are the site's heads, in order and in blocks of equal size.
    """
    return getattr(parameter, _TAG, None)
