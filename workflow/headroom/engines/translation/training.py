"""Training with fairseq: an epoch at a time, resumable, with a record of each."""

import json
import logging
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path
from headroom.core.heads import parse_profile
from headroom.engines.epochs import Notify, Progress
from headroom.engines.processes import check_replicas, own_seed, this_process, wait_for_all
from headroom.engines.removal import remove_heads
from headroom.engines.sites import gradient_norm, site_names
from headroom.engines.translation.checkpoint import DESCRIPTOR, find_sites, is_whole, load_state, save_model
from headroom.engines.translation.fairseq_task import site_of

from fairseq import checkpoint_utils, metrics, options, tasks, utils  # isort: skip
from fairseq.data import iterators  # isort: skip
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # isort: skip
from fairseq.trainer import Trainer  # isort: skip


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


def write_record(record: EpochRecord, work: Path) -> None:
    """Leave the record of an epoch beside its model."""
    with atomic_path(work / f"epoch{record.epoch}.json") as temporary:
        temporary.write_text(json.dumps(asdict(record)), "utf-8")


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record that `train` left of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))


logger = logging.getLogger(__name__)

PLAIN_NORM = "plain_head_gnorm"
"""Under this name an optimizer that rewrites the gradients of heads logs their norm before."""


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
    return _Trainer(cfg, task, model, task.build_criterion(cfg.criterion))


class _Trainer(Trainer):
    """fairseq's Trainer, but that processes draw their own dropout, and that it says why gradients end a training."""

    def _set_seed(self) -> None:
        utils.set_torch_seed(own_seed(self.cfg.common.seed + self.get_num_updates(), this_process()))

    def clip_grad_norm(self, clip_norm: float) -> Tensor:
        try:
            norm: Tensor = super().clip_grad_norm(clip_norm)
            finite = bool(torch.isfinite(norm)) or self.cfg.common.amp  # which makes its loss scale smaller
        except FloatingPointError:  # until it cannot
            finite = False
        if not finite:  # fairseq's own search for the reason fails on the way
            raise HeadroomError(
                f"the gradients of update {self.get_num_updates() + 1} are not finite: lower training.learning_rate, "
                "or use precision float32"
            )
        return norm


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
    because fairseq reseeds from the seed and the number of updates and restores the data order. Of processes that
    train together (`headroom.engines.processes`) the first one writes.

    Args:
        arguments: From `fairseq_arguments`.
        epochs: The last epoch to train.
        work: Directory of this run alone.
        notify: Called with the progress after each update.
        profile: Heads that the model does not have.

    Returns:
        One record per epoch, from the first.

    Raises:
        HeadroomError: If the GPU's memory is too small, or gradients are not finite.
    """
    work.mkdir(parents=True, exist_ok=True)
    cfg = configuration(arguments)
    cfg.distributed_training.distributed_rank = this_process()
    trainer = build_trainer(cfg, profile)
    last = last_whole_epoch(work)
    if last:
        logger.info("going on after epoch %d", last)
        cfg.checkpoint.restore_file = str(work / f"state{last}.pt")
    else:
        cfg.checkpoint.restore_file = str(work / "none.pt")
    cfg.checkpoint.save_dir = str(work)
    cfg.checkpoint.load_checkpoint_on_all_dp_ranks = True
    _, epoch_iterator = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    for epoch in range(last + 1, epochs + 1):
        record = _train_epoch(trainer, epoch_iterator, epoch, epochs, notify)
        check_replicas(trainer.model.parameters())
        if this_process() == 0:
            _save_epoch(trainer, epoch_iterator, record, work, profile)
        trainer.lr_step(epoch, record.valid_loss)
        epoch_iterator = trainer.get_train_iterator(epoch_iterator.next_epoch_idx, load_dataset=False)
    wait_for_all()
    return [read_record(work, epoch) for epoch in range(1, epochs + 1)]


def last_whole_epoch(work: Path) -> int:
    """Return the newest epoch from which training can go on, 0 if there is none."""
    states = sorted((int(path.stem.removeprefix("state")) for path in work.glob("state*.pt")), reverse=True)
    for epoch in states:
        models_there = all((work / f"epoch{e}.pt").is_file() for e in range(1, epoch + 1))
        if models_there and is_whole(work / f"state{epoch}.pt"):
            return epoch
    return 0


def _train_epoch(trainer: Trainer, epoch_iterator: Any, epoch: int, epochs: int, notify: Notify) -> EpochRecord:
    frequency = trainer.cfg.optimization.update_freq
    batches = epoch_iterator.next_epoch_itr(shuffle=True)
    groups = iterators.GroupedIterator(batches, frequency[min(epoch, len(frequency)) - 1])
    trainer.begin_epoch(epoch)
    heads = [weight for weight in trainer.model.parameters() if site_of(weight) is not None]
    norms: list[Tensor] = []
    start = time.perf_counter()
    with metrics.aggregate(new_root=True) as meters:
        for update, samples in enumerate(groups, start=1):
            _update(trainer, samples)
            norms.append(gradient_norm(heads))  # gradients stay until the next update
            words = float(meters["wpb"].sum)  # of all processes
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


def _update(trainer: Trainer, samples: list[dict[str, Any]]) -> None:
    # A process without a batch where others still have one gets an empty one. fairseq lets the last batch decide
    # whether all of this process's count, so only one that is alone may be empty.
    samples = [sample for sample in samples if sample] or samples[:1]
    try:
        trainer.train_step(samples, raise_oom=True)
    except torch.OutOfMemoryError as error:
        raise HeadroomError(
            "out of GPU memory: make training.max_tokens smaller, and update_frequency larger by as much"
        ) from error


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
    write_record(record, work)
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
