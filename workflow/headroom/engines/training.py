"""The shell of every training: it claims the working directory, resumes, hands over checkpoints, records epochs."""

import hashlib
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, link, remove, sha256
from headroom.engines.processes import check_processes, run_together
from headroom.engines.sites import pick_device

Notify = Callable[["Progress"], None]

_OURS = re.compile(r"epoch\d+(\.pt|\.json)?|state\d+\.pt|states|fingerprint|\.(epoch\d+|state\d+|fingerprint)\..*")
"""What trainings write into their working directories, and what a kill leaves of it half-written."""


class Training(Protocol):
    """What an engine trains: one run. It is pickled for processes that train together.

    Attributes:
        training: How to train: settings with the number of `epochs`.
        seed: Seed of fresh weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        processes: Number of processes that train together and share every batch, or the batches of every update.
        unit: What the speed counts: words or examples.
    """

    training: Any
    seed: int
    device: str
    processes: int
    unit: str

    @property
    def first(self) -> int:
        """Number of the first epoch."""
        return 1

    @property
    def epochs(self) -> int:
        """Number of the last epoch."""
        return int(self.training.epochs)

    def check(self) -> None:
        """Raise HeadroomError, before any work, if settings, data and machine do not fit each other."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Return all that determines the weights but the code, as JSON has it."""

    def signature(self, arm: str) -> str:
        """Return what affects the table of epochs, for an arm's name."""

    def train(self, *, epochs: int, work: Path, notify: Notify) -> Any:
        """Train up to an epoch, resuming from the newest complete state in `work`; in one of the processes."""

    def files(self, epoch: int) -> Sequence[str]:
        """Return the names, within `work`, of the files of an epoch's model."""


def check_precision(precision: str, device: str) -> bool:
    """Return whether a device is the CPU; raise HeadroomError if it cannot train with this precision."""
    on_cpu = pick_device(device).type == "cpu"
    if precision == "float16" and on_cpu:
        raise HeadroomError("precision: float16 needs CUDA, and this run is on the CPU; use bfloat16 or float32")
    return on_cpu


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """What one epoch cost and gained. Losses are in nats, per target piece without label smoothing or per example.

    Norms are means over updates: of all gradients before clipping; of those of the heads' query, key and value
    weights as the optimizer is handed them, and as the loss has them where an arm rewrites them.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    valid_accuracy: float | None = None
    seconds: float
    words_per_second: float | None = None
    examples_per_second: float | None = None
    updates: int
    gradient_norm: float
    head_gradient_norm: float
    plain_head_gradient_norm: float | None


def write_record(record: EpochRecord, work: Path) -> None:
    """Leave the record of an epoch beside its model."""
    with atomic_path(work / f"epoch{record.epoch}.json") as temporary:
        temporary.write_text(json.dumps(asdict(record)), "utf-8")


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record that a training left of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))


def read_records(work: Path, epochs: int, first: int = 1) -> list[EpochRecord]:
    """Return the records of all epochs up to one, from that which a training started with."""
    return [read_record(work, epoch) for epoch in range(first, epochs + 1)]


def carry_out(
    training: Training,
    *,
    work: Path,
    checkpoints: Path | None,
    until: int | None,
    logger: logging.Logger,
    last_only: bool = False,
) -> list[EpochRecord]:
    """Train a run to its last epoch and hand over its checkpoints, or to an earlier one for another job to resume.

    Args:
        training: What to train.
        work: Directory for resumable state, of this run alone.
        checkpoints: Where the model of every epoch goes; None for a part of a training.
        until: The epoch to stop after; None for the last.
        logger: Where progress goes.
        last_only: Hand over the model of the last epoch alone.

    Returns:
        One record per epoch, from the first.

    Raises:
        HeadroomError: If it cannot be trained; what another training left in `work` is still there then.
    """
    check_processes(training.processes, training.device)
    training.check()
    last = min(until or training.epochs, training.epochs)
    if claim(work, fingerprint(training)):
        logger.info("%s: training state of other settings, data or code; starting from scratch", work)
    notify = progress_lines(logger, last, training.unit)
    part = partial(_take_part, training=training, epochs=last, work=work)
    run_together(part, count=training.processes, device=training.device, notify=notify)
    if checkpoints and not until:
        first = training.epochs if last_only else training.first
        hand_over(training, work, checkpoints, range(first, training.epochs + 1))
    return read_records(work, last, training.first)


def _take_part(notify: Notify, *, training: Training, epochs: int, work: Path) -> None:
    """Train, in this process or as one of several, which import what the training is made of."""
    training.train(epochs=epochs, work=work, notify=notify)


def fingerprint(training: Training) -> str:
    """Return a hash of all that makes the weights: settings, data and the code that is loaded."""
    parts = {**training.fingerprint(), "code": loaded_code()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def loaded_code() -> list[str]:
    """Return the hashes of this package's modules that are loaded, in order of their paths."""
    modules = (module for name, module in sys.modules.items() if name.startswith("headroom"))
    return [sha256(path) for path in sorted(str(module.__file__) for module in modules if module.__file__)]


def claim(work: Path, expected: str) -> bool:
    """Make a directory one training's and return whether another one's files were there, which are removed.

    Half-written files are removed too, files that no training writes are not.
    """
    stamp = work / "fingerprint"
    known = stamp.is_file() and stamp.read_text("utf-8") == expected
    ours = [path for path in work.iterdir() if _OURS.fullmatch(path.name)] if work.is_dir() else []
    for path in ours:
        if not known or path.name.startswith("."):
            remove(path)
    with atomic_path(stamp) as temporary:
        temporary.write_text(expected, "utf-8")
    return bool(ours) and not known


def hand_over(training: Training, work: Path, checkpoints: Path, epochs: Iterable[int]) -> None:
    """Put the models of epochs into the outputs, as hard links where the file system has them."""
    for name in (name for epoch in epochs for name in training.files(epoch)):
        with atomic_path(checkpoints / name) as temporary:
            link(work / name, temporary)


@dataclass(frozen=True)
class Progress:
    """Where training stands within an epoch; `speed` is in words or examples per second."""

    epoch: int
    update: int
    updates: int
    loss: float
    speed: float
    seconds_left: float


def progress_lines(logger: logging.Logger, epochs: int, unit: str, every: float = 5.0) -> Notify:
    """Return a function that logs progress when an epoch ends and every few seconds in between."""
    last = time.monotonic()

    def notify(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < every and progress.update < progress.updates:
            return
        last = now
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        logger.info(
            f"epoch {progress.epoch}/{epochs}  update {progress.update}/{progress.updates}  loss {progress.loss:.3f}  "
            f"{progress.speed:,.0f} {unit}/s  {minutes}:{seconds:02d} left"
        )

    return notify


def epoch_rows(records: Iterable[EpochRecord], leading: Mapping[str, Any], signature: str) -> list[dict[str, Any]]:
    """Return the rows of a table of epochs, one per measure: all fields of a record but those that are None."""
    return [
        {**leading, "epoch": record.epoch, "measure": measure, "value": value, "signature": signature}
        for record in records
        for measure, value in asdict(record).items()
        if measure != "epoch" and value is not None
    ]


RealPositions = Mapping[str, tuple[Tensor, Tensor]]
"""By kind of site, which query (B, T) and which key positions (B, S) of a batch are not padding."""


class Regulariser(Protocol):
    """Acts on the heads of a model while it computes the loss of a batch in training."""

    def __call__(
        self, forward: Callable[[], Any], real: RealPositions, *, update: int, batch: int, part: int = 0
    ) -> tuple[Any, Any]:
        """Run the forward pass of one batch.

        Args:
            forward: Runs it.
            real: Which positions of the batch count.
            update: Number of updates before this one.
            batch: Number of batches of this update before this one.
            part: Which part of the batch this is, where several processes share it.

        Returns:
            What `forward` returned, and the term to add to the mean loss per target: a tensor (), or 0.0.
        """
