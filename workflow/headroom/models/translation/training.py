"""Training with fairseq: its Trainer, its iterators and its semantics, in a loop that can be killed."""

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from fairseq import checkpoint_utils, metrics, options, tasks, utils
from fairseq.data import iterators
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer
from torch import Tensor

from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path
from headroom.ground.heads import parse_profile
from headroom.models.device import pick_device
from headroom.models.projections import gradient_norm
from headroom.models.removal import remove_heads
from headroom.models.sites import site_names
from headroom.models.translation.checkpoint import DESCRIPTOR, is_whole, load_state, save_model
from headroom.models.translation.sites import find_sites
from headroom.models.translation.task import site_of
from headroom.settings.model import ModelSettings
from headroom.settings.training import TrainingSettings

logger = logging.getLogger(__name__)

Notify = Callable[["Progress"], None]

PLAIN_NORM = "plain_head_gnorm"
"""Under this name an optimizer that rewrites the gradients of heads logs their norm before."""


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch cost and gained. Losses are in nats per target piece, without label smoothing.

    Norms are means over updates: of all gradients before clipping; of those of the heads' query, key and value
    weights as the optimizer is handed them, and as the loss has them where an arm rewrites them.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    seconds: float
    words_per_second: float
    updates: int
    gradient_norm: float
    head_gradient_norm: float
    plain_head_gradient_norm: float | None


@dataclass(frozen=True)
class Progress:
    """Where training stands within an epoch."""

    epoch: int
    update: int
    updates: int
    loss: float
    words_per_second: float
    seconds_left: float


def fairseq_arguments(
    *,
    data: Path,
    model: ModelSettings,
    training: TrainingSettings,
    seed: int,
    device: str,
    arm: list[str],
) -> list[str]:
    """Return the command line that `fairseq-train` would be given for a run.

    Args:
        data: The directory that `headroom.prepare` wrote.
        model: The model's shape.
        training: How it is trained.
        seed: Seed of initial weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        arm: The arm's own arguments: optimizer, criterion and their flags.

    Raises:
        HeadroomError: If CUDA is needed and there is none.
    """
    on_cpu = pick_device(device).type == "cpu"
    if training.precision == "float16" and on_cpu:
        raise HeadroomError("precision float16 needs CUDA, and this run is on the CPU: use bfloat16 or float32")
    flags = {"seed": seed, **_model_flags(model), **_training_flags(training)}
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
        "update-freq": training.update_frequency,
        # Cut each epoch into batches anew, by seed and epoch alone: fairseq keeps the cut of the epoch that a
        # process began with, so that a resumed training would see other batches than an uninterrupted one.
        "update-epoch-batch-itr": True,
        "num-workers": 0,
        "log-format": "none",
        **({"precision": "bfloat16"} if training.precision == "bfloat16" else {}),
    }


def configuration(arguments: list[str]) -> Any:
    """Return fairseq's configuration for a command line."""
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=arguments))


def build_trainer(cfg: Any, profile: str = "") -> Trainer:
    """Return fairseq's Trainer with task, model and criterion, seeded as `fairseq-train` does.

    Args:
        cfg: The configuration.
        profile: Heads that the model does not have: sliced out before it sees a sentence.

    Raises:
        HeadroomError: If the model has no such head.
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
    return Trainer(cfg, task, model, task.build_criterion(cfg.criterion))


def _slice(model: Any, profile: str) -> None:
    sites = find_sites(model)
    remove_heads(sites, parse_profile(profile, site_names(sites)))
    for live in sites:
        if live.kept:
            attention: Any = live.attention
            attention.skip_embed_dim_check = True  # its heads are narrower together than the model


def train(*, arguments: list[str], epochs: int, work: Path, notify: Notify, profile: str = "") -> list[EpochRecord]:
    """Train up to an epoch, going on from whatever whole state `work` holds.

    After each epoch `work` gets `epoch<e>.json` (the record), `epoch<e>.pt` (the model) and
    `state<e>.pt` (all that is needed to go on), in this order and each whole or absent; the two newest
    states are kept. Killed at any moment, a rerun repeats at most one epoch and ends with the same bits,
    because fairseq reseeds from the seed and the number of updates and restores the data order.

    Args:
        arguments: From `fairseq_arguments`.
        epochs: The last epoch to train.
        work: Directory of this run alone.
        notify: Called with the progress after each update.
        profile: Heads that the model does not have.

    Returns:
        One record per epoch, from the first.
    """
    work.mkdir(parents=True, exist_ok=True)
    cfg = configuration(arguments)
    trainer = build_trainer(cfg, profile)
    last = last_whole_epoch(work)
    if last:
        logger.info("going on after epoch %d", last)
        cfg.checkpoint.restore_file = str(work / f"state{last}.pt")
    else:
        cfg.checkpoint.restore_file = str(work / "none.pt")
    cfg.checkpoint.save_dir = str(work)
    _, epoch_iterator = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    for epoch in range(last + 1, epochs + 1):
        record = _train_epoch(trainer, epoch_iterator, epoch, epochs, notify)
        _save_epoch(trainer, epoch_iterator, record, work, profile)
        trainer.lr_step(epoch, record.valid_loss)
        epoch_iterator = trainer.get_train_iterator(epoch_iterator.next_epoch_idx, load_dataset=False)
    return [read_record(work, epoch) for epoch in range(1, epochs + 1)]


def last_whole_epoch(work: Path) -> int:
    """Return the newest epoch from which training can go on, 0 if there is none."""
    states = sorted((int(path.stem.removeprefix("state")) for path in work.glob("state*.pt")), reverse=True)
    for epoch in states:
        models_there = all((work / f"epoch{e}.pt").is_file() for e in range(1, epoch + 1))
        if models_there and is_whole(work / f"state{epoch}.pt"):
            return epoch
    return 0


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record that `train` left of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))


def _train_epoch(trainer: Trainer, epoch_iterator: Any, epoch: int, epochs: int, notify: Notify) -> EpochRecord:
    frequency = trainer.cfg.optimization.update_freq
    batches = epoch_iterator.next_epoch_itr(shuffle=True)
    groups = iterators.GroupedIterator(batches, frequency[min(epoch, len(frequency)) - 1])
    trainer.begin_epoch(epoch)
    heads = [weight for weight in trainer.model.parameters() if site_of(weight) is not None]
    norms: list[Tensor] = []
    start, words = time.perf_counter(), 0
    with metrics.aggregate(new_root=True) as meters:
        for update, samples in enumerate(groups, start=1):
            trainer.train_step(samples)
            norms.append(gradient_norm(heads))  # gradients stay until the next update
            words += sum(sample["ntokens"] for sample in samples)
            seconds = time.perf_counter() - start
            left = seconds / update * (len(groups) * (epochs - epoch + 1) - update)
            loss = _nats(meters)
            notify(Progress(epoch, update, len(groups), loss, words / seconds, left))
    seconds = time.perf_counter() - start
    return EpochRecord(
        epoch=epoch,
        train_loss=_nats(meters),
        valid_loss=_valid_loss(trainer),
        seconds=seconds,
        words_per_second=words / seconds,
        updates=trainer.get_num_updates(),
        gradient_norm=float(meters["gnorm"].avg),
        head_gradient_norm=torch.stack(norms).mean().item(),
        plain_head_gradient_norm=float(meters[PLAIN_NORM].avg) if PLAIN_NORM in meters else None,
    )


def _valid_loss(trainer: Trainer) -> float:
    trainer.begin_valid_epoch(1)
    with metrics.aggregate(new_root=True) as meters:
        for sample in trainer.get_valid_iterator("valid").next_epoch_itr(shuffle=False):
            trainer.valid_step(sample)
    return _nats(meters)


def _nats(meters: Any) -> float:
    """Return the mean loss in nats: fairseq keeps it in bits."""
    return float(meters["nll_loss"].avg) * math.log(2)


def _save_epoch(trainer: Trainer, epoch_iterator: Any, record: EpochRecord, work: Path, profile: str) -> None:
    with atomic_path(work / f"epoch{record.epoch}.json") as temporary:
        temporary.write_text(json.dumps(asdict(record)), "utf-8")
    trainer.consolidate_optimizer()
    extra_state = {"train_iterator": epoch_iterator.state_dict(), "val_loss": record.valid_loss}
    state = work / f"state{record.epoch}.pt"
    with atomic_path(state) as temporary:
        trainer.save_checkpoint(str(temporary), extra_state)
        whole = load_state(temporary)
        if profile:
            whole[DESCRIPTOR] = {"removed": profile}
        save_model(whole, work / f"epoch{record.epoch}.pt")
    (work / f"state{record.epoch - 2}.pt").unlink(missing_ok=True)
