"""Training with fairseq: an epoch at a time, resumable, with a record of each."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, sha256
from headroom.core.table import signature
from headroom.models.sites import gradient_norm
from headroom.settings.arms import Arm
from headroom.settings.models import ModelSettings, TrainingSettings
from headroom.training.fairseq.checkpoint import DESCRIPTOR, is_whole, load_state, save_model
from headroom.training.fairseq.library import VERSION
from headroom.training.fairseq.optimizer import AnnealedInverseSqrt
from headroom.training.fairseq.sites import find_site
from headroom.training.fairseq.trainer import (
    PLAIN_NORM,
    RATIO,
    Sample,
    build_trainer,
    configuration,
    fairseq_arguments,
    shape_model,
)
from headroom.training.processes import check_replicas, this_process, wait_for_all
from headroom.training.resumable import (
    EpochRecord,
    Notify,
    Progress,
    Training,
    early_due,
    in_signature,
    write_record,
)

from fairseq import checkpoint_utils, metrics, utils  # isort: skip
from fairseq.data import indexed_dataset  # isort: skip
from fairseq.data.iterators import EpochBatchIterator, GroupedIterator  # isort: skip
from fairseq.logging.meters import MetersDict  # isort: skip
from fairseq.trainer import Trainer  # isort: skip

logger = logging.getLogger(__name__)

POSITIONS = 1024
"""fairseq's default number of positions of an encoder and a decoder."""

MULTIPLE = 8
"""fairseq's batches have a multiple of this number of pairs; what remains of an epoch is left out."""

_NEEDED = ("dict.source.txt", "dict.target.txt", "train.source-target.source.idx", "valid.source-target.source.idx")


@dataclass(frozen=True, kw_only=True)
class TranslationTraining(Training[TrainingSettings]):
    """The training of one translation model.

    Attributes:
        data: The output directory of the stage vocabulary.
        model: The model's shape, which the arm may change.
        arm_arguments: The fairseq arguments of an arm, given the seed; its module registers their classes.
        removed: The names of the removed heads.
    """

    data: Path
    model: ModelSettings
    arm_arguments: Callable[[Arm, int], list[str]]
    removed: str = ""

    unit = "words"

    @property
    def arguments(self) -> list[str]:
        """The command line of `fairseq-train`; errors as in `fairseq_arguments`."""
        return fairseq_arguments(
            data=self.data,
            model=shape_model(self.model, self.arm),
            training=self.training,
            seed=self.seed,
            device=self.device,
            arm=self.arm_arguments(self.arm, self.seed),
            processes=self.processes,
        )

    def check(self) -> None:
        """Raise HeadroomError if settings and machine are incompatible, or the data are not prepared."""
        _ = self.arguments
        if missing := [name for name in _NEEDED if not (self.data / name).is_file()]:
            raise HeadroomError(f"{self.data}: no {missing[0]}; give the output directory of the stage vocabulary")
        for split in ("train", "valid"):
            self._check_pairs(split)

    def _check_pairs(self, split: str) -> None:
        """Log how many pairs of a split fairseq leaves out; raise HeadroomError if there is no batch of the others."""
        pairs, long = len(self._lengths(split)), self.count_long(split)
        what = f"longer than {self._longest(split)} tokens, the positions of the model or training.max_tokens"
        if pairs - long < MULTIPLE:
            too_long = f", of which {long} are {what}" if long else ""
            raise HeadroomError(
                f"{self.data}: {pairs} pairs in {split}{too_long}; fairseq makes batches of {MULTIPLE} and more: "
                "give more text"
            )
        if long:
            logger.warning("%s: %d of %d pairs are left out, %s", split, long, pairs, what)
        if rest := (pairs - long) % MULTIPLE:
            logger.warning("%s: %d of %d pairs are left out, the rest of batches of %d", split, rest, pairs, MULTIPLE)

    def _longest(self, split: str) -> int:
        """Return the most tokens of a side of a pair, with the end mark; batches for validation may be larger."""
        return min(POSITIONS, self.training.max_tokens) if split == "train" else POSITIONS

    def _lengths(self, split: str) -> ndarray:
        """Return the number of tokens of the longer side of each pair, with the end mark."""
        files = (str(self.data / f"{split}.source-target.{side}") for side in ("source", "target"))
        sides = [indexed_dataset.make_dataset(file, impl="mmap") for file in files]  # sizes end with their data set
        return numpy.maximum(*(side.sizes for side in sides))

    def count_long(self, split: str) -> int:
        """Return the number of pairs of `train` or `valid` that fairseq leaves out for their length."""
        return int((self._lengths(split) > self._longest(split)).sum())

    def fingerprint(self) -> Mapping[str, Any]:
        """Return everything that determines the weights.

        The number of epochs, which can be increased, is not part of it unless the learning rate depends on it.
        """
        files = sorted(path for path in self.data.iterdir() if path.is_file())
        return {
            "command": self.arguments[1:],
            "profile": self.removed,
            "data": {path.name: sha256(path) for path in files},
            "versions": [torch.__version__, VERSION],
        }

    def signature(self, arm: str) -> str:
        """Return the signature of the table of epochs."""
        share, tokens = self.training.annealed_share, self.training.max_tokens
        left_out = {"long": self.count_long("train")}
        left_out["rest"] = (len(self._lengths("train")) - left_out["long"]) % MULTIPLE
        out = {f"left_out_{why}": count for why, count in left_out.items() if count}
        own = {**out, **({"annealed": f"{share:g}"} if share else {}), **in_signature(self)}
        return signature(seed=self.seed, arm=arm, max_tokens=tokens, **own, torch=torch.__version__)

    def train(self, *, epochs: int, work: Path, notify: Notify) -> None:
        """Train up to an epoch, resuming from the newest complete state in `work`.

        After each epoch `work` gets `epoch<e>.json` (the record), `epoch<e>.pt` (the model) and `state<e>.pt` (all that
        is needed to resume), in this order and each atomically; the two newest states are kept. Killed at any moment, a
        rerun repeats at most one epoch and ends with the same bits, because fairseq reseeds from the seed and the
        number of updates and restores the data order. Inside the first epoch `work` gets the models of the shares
        `early` of it, as `epoch<share>.pt`. Of parallel processes (`headroom.training.processes`) the first one writes.

        Raises:
            HeadroomError: If the GPU's memory is too small, or gradients are not finite.
        """
        work.mkdir(parents=True, exist_ok=True)
        cfg = configuration(self.arguments)
        cfg.distributed_training.distributed_rank = this_process()
        cfg.dataset.skip_invalid_size_inputs_valid_test = True  # `check` has counted them
        longest = int(min(POSITIONS, self._lengths("valid").max()))
        cfg.dataset.max_tokens_valid = max(cfg.dataset.max_tokens_valid, longest)
        trainer = build_trainer(cfg, self.removed)
        last = last_whole_epoch(work, self.early)
        if last:
            logger.info("resuming after epoch %d", last)
        cfg.checkpoint.restore_file = str(work / (f"state{last}.pt" if last else "none.pt"))
        cfg.checkpoint.save_dir = str(work)
        cfg.checkpoint.load_checkpoint_on_all_dp_ranks = True
        _, iterator = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
        if isinstance(trainer.lr_scheduler, AnnealedInverseSqrt):  # all epochs have as many batches: sorted by length
            updates = math.ceil(len(iterator) / cfg.optimization.update_freq[0])
            trainer.lr_scheduler.total = cfg.optimization.max_epoch * updates
        for epoch in range(last + 1, epochs + 1):
            save = partial(self._save_early, trainer, iterator, work)
            record = _train_epoch(trainer, iterator, epoch, epochs, notify, save, self.early if epoch == 1 else ())
            check_replicas(trainer.model.parameters())
            if this_process() == 0:
                self._save_epoch(trainer, iterator, record, work)
            trainer.lr_step(epoch, record.valid_loss)
            iterator = trainer.get_train_iterator(iterator.next_epoch_idx, load_dataset=False)
        wait_for_all()

    def export(self, work: Path, checkpoints: Path, epochs: Iterable[float]) -> None:
        """Write the models of epochs as directories of transformers; the logits of the last one are compared."""
        from headroom.training.fairseq.convert import convert_checkpoint  # it decides no weights

        chosen = list(epochs)
        for epoch in chosen:
            place = checkpoints / f"epoch{epoch:g}"
            convert_checkpoint(work / f"epoch{epoch:g}.pt", self.data, place, compare=epoch == chosen[-1])

    def _save_epoch(self, trainer: Trainer, iterator: EpochBatchIterator, record: EpochRecord, work: Path) -> None:
        write_record(record, work)
        trainer.consolidate_optimizer()
        extra_state = {"train_iterator": iterator.state_dict(), "val_loss": record.valid_loss}
        with atomic_path(work / f"state{record.epoch}.pt") as temporary:
            trainer.save_checkpoint(str(temporary), extra_state)
            self._save_model(load_state(temporary), record.epoch, work)
        (work / f"state{record.epoch - 2}.pt").unlink(missing_ok=True)

    def _save_early(self, trainer: Trainer, iterator: EpochBatchIterator, work: Path, share: float) -> None:
        """Save the model after a share of the first epoch, in the first process; the training does not change."""
        if this_process() > 0:
            return
        trainer.consolidate_optimizer()  # else it has no state
        state = trainer.state_dict()
        state["model"] = utils.move_to_cpu(state["model"])
        state["extra_state"]["train_iterator"] = iterator.state_dict()
        self._save_model(state, share, work)

    def _save_model(self, state: dict[str, Any], epoch: float, work: Path) -> None:
        if self.removed:
            state[DESCRIPTOR] = {"removed": self.removed}
        save_model(state, work / f"epoch{epoch:g}.pt")


def last_whole_epoch(work: Path, early: Sequence[float] = ()) -> int:
    """Return the newest epoch from which training can resume, 0 for none.

    `early` has the shares of the first epoch whose models must be there too.
    """
    states = sorted((int(path.stem.removeprefix("state")) for path in work.glob("state*.pt")), reverse=True)
    for epoch in states:
        models_there = all((work / f"epoch{e:g}.pt").is_file() for e in (*early, *range(1, epoch + 1)))
        if models_there and is_whole(work / f"state{epoch}.pt"):
            return epoch
    return 0


def _train_epoch(
    trainer: Trainer,
    iterator: EpochBatchIterator,
    epoch: int,
    epochs: int,
    notify: Notify,
    save: Callable[[float], None],
    early: Sequence[float],
) -> EpochRecord:
    """Train an epoch; `save` saves the model after the shares `early` of it, in time that is not counted."""
    frequency = trainer.cfg.optimization.update_freq
    batches = iterator.next_epoch_itr(shuffle=True)
    groups = GroupedIterator(batches, frequency[min(epoch, len(frequency)) - 1])
    trainer.begin_epoch(epoch)
    heads = [weight for weight in trainer.model.parameters() if find_site(weight) is not None]
    norms: list[Tensor] = []
    start = time.perf_counter()
    with metrics.aggregate(new_root=True) as meters:
        for update, samples in enumerate(groups, start=1):
            _update(trainer, samples)
            norms.append(gradient_norm(heads))  # gradients are kept until the next update
            before = time.perf_counter()
            for share in early_due(early, update, len(groups)):
                save(share)
            start += time.perf_counter() - before
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
        repulsion_ratio=float(meters[RATIO].avg) if RATIO in meters else None,
    )


def _update(trainer: Trainer, samples: list[Sample]) -> None:
    # A process without a batch gets an empty one while others still have one. fairseq decides by the last batch
    # whether all batches of the process count, so an empty batch must be the only one.
    samples = [sample for sample in samples if sample] or samples[:1]
    try:
        trainer.train_step(samples, raise_oom=True)
    except torch.OutOfMemoryError as error:
        raise HeadroomError(
            "out of GPU memory: the batch does not fit; lower training.max_tokens, and raise "
            "update_frequency by the same factor"
        ) from error


def _valid_loss(trainer: Trainer) -> float:
    trainer.begin_valid_epoch(1)
    with metrics.aggregate(new_root=True) as meters:
        for sample in trainer.get_valid_iterator("valid").next_epoch_itr(shuffle=False):
            trainer.valid_step(sample)
    return _nats(meters)


def _nats(meters: MetersDict) -> float:
    """Return the mean loss in nats: fairseq stores it in bits."""
    return float(meters["nll_loss"].avg) * math.log(2)
