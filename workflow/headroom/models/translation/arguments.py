"""The command line of a training with fairseq."""

from pathlib import Path
from typing import Any

from headroom.ground.errors import HeadroomError
from headroom.models.device import pick_device
from headroom.settings.model import ModelSettings
from headroom.settings.training import TrainingSettings


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
        data: The directory that `headroom.prepare` wrote.
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
