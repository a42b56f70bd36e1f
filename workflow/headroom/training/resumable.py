"""Common part of all trainings: working directory, resuming, export of checkpoints, records of epochs."""

import hashlib
import json
import logging
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch

from headroom.core import files
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, remove, sha256
from headroom.core.progress import Timer, clock
from headroom.experiments.training.declared import TRAINING, TrainingJob
from headroom.models.sites import pick_device
from headroom.settings.arms import Arm
from headroom.settings.models import FineTuningSettings, TrainingSettings
from headroom.training.processes import check_processes, run_together

Notify = Callable[["Progress"], None]

Settings = TypeVar("Settings", TrainingSettings, FineTuningSettings)

_OURS = re.compile(
    r"epoch\d+(\.\d+)?(\.pt|\.json)?|state\d+\.pt|states|fingerprint|\.(epoch\d+|state\d+|fingerprint)\..*"
)
"""Files of trainings in their working directories, including temporary files of killed trainings."""


@dataclass(frozen=True, kw_only=True)
class Training(ABC, Generic[Settings]):
    """The training of one run by an engine. It is pickled for parallel processes.

    Attributes:
        training: The settings of the training.
        arm: The arm.
        seed: Seed of initial weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        processes: Number of parallel processes that share every batch, or the batches of every update.
        unit: Unit of the speed: words or examples.
    """

    training: Settings
    arm: Arm
    seed: int
    device: str
    processes: int = 1
    unit: ClassVar[str]

    @property
    def epochs(self) -> int:
        """Number of the last epoch."""
        return int(self.training.epochs)

    @property
    def early(self) -> Sequence[float]:
        """Shares of the first epoch after which a model is kept."""
        return tuple(self.training.early_checkpoints)

    @abstractmethod
    def check(self) -> None:
        """Raise HeadroomError, before any work, if settings, data and machine are incompatible."""

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return everything except the code that determines the weights, as JSON."""

    @abstractmethod
    def signature(self, arm: str) -> str:
        """Return the signature of the table of epochs, for an arm's name."""

    @abstractmethod
    def train(self, *, epochs: int, work: Path, notify: Notify) -> None:
        """Train up to an epoch, resuming from the newest complete state in `work`; in one of the processes."""

    @abstractmethod
    def export(self, work: Path, checkpoints: Path, epochs: Iterable[float]) -> None:
        """Write the models of epochs, or of shares of the first one, as directories of transformers, `epoch<e>/`."""


def check_precision(precision: str, device: str) -> bool:
    """Return whether a device is the CPU; raise HeadroomError if it cannot train with this precision."""
    on_cpu = pick_device(device).type == "cpu"
    if precision in ("float16", "tf32") and on_cpu:
        raise HeadroomError(f"precision: {precision} needs CUDA, and this run is on the CPU; use bfloat16 or float32")
    return on_cpu


@contextmanager
def tensor_floats(precision: str) -> Iterator[None]:
    """Let GPUs multiply float32 matrices in TF32 within a block if that is the precision; otherwise not, nor after."""
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    for backend in backends:
        backend.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        for backend in backends:
            backend.allow_tf32 = False


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """Losses, speed and gradient norms of an epoch.

    Losses are in nats, per target token without label smoothing or per example.
    Norms are means over updates: of all gradients before clipping; of the gradients of the heads' query, key and value
    weights that are passed to the optimizer, and of the loss's own gradients if an arm rewrites them. The ratio of
    repulsion to gradient is that of arms that repel (`headroom.training.repulsion.particles.repulsion_ratio`), a mean
    over updates and systems.
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
    repulsion_ratio: float | None = None


def write_record(record: EpochRecord, work: Path) -> None:
    """Write the record of an epoch next to its model."""
    with atomic_path(work / f"epoch{record.epoch}.json") as temporary:
        temporary.write_text(json.dumps(asdict(record)), "utf-8")


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))


def read_records(work: Path, epochs: int) -> list[EpochRecord]:
    """Return the records of all epochs up to the given one."""
    return [read_record(work, epoch) for epoch in range(1, epochs + 1)]


def early_due(early: Sequence[float], update: int, updates: int) -> list[float]:
    """Return the shares of an epoch of so many updates that end with an update, counted from 1."""
    return [share for share in early if update == max(1, round(share * updates))]


def carry_out(job: TrainingJob, training: Training, logger: logging.Logger) -> None:
    """Train a run to its last epoch, export its checkpoints and write its table, or train it to an earlier epoch.

    Args:
        job: What is written where.
        training: The training.
        logger: Logger of the progress.

    Raises:
        HeadroomError: If it cannot be trained, or another process trains there; state of another training in the
            directory is then unchanged.
    """
    if not job.until and not job.checkpoints:
        raise HeadroomError("checkpoints: missing; give their directory, or `until`, the epoch at which to stop")
    check_processes(training.processes, training.device)
    training.check()
    with files.locked(job.work):
        _carry_out(job, training, logger)


def _carry_out(job: TrainingJob, training: Training, logger: logging.Logger) -> None:
    last = min(job.until or training.epochs, training.epochs)
    if claim(job.work, fingerprint(training)):
        logger.info("%s: training state of other settings, data or code; starting from scratch", job.work)
    notify = ProgressLines(logger, last, training.unit)
    part = partial(_take_part, training=training, epochs=last, work=job.work)
    run_together(part, count=training.processes, device=training.device, notify=notify)
    if job.checkpoints and not job.until:
        every = [*training.early, *range(1, training.epochs + 1)]
        training.export(job.work, job.checkpoints, every[-1:] if job.last_only else every)
        files.write_record(job.checkpoints)
    leading = {"study": job.study, "run": job.run}
    signature = training.signature(job.arm_name or job.arm.method)
    TRAINING.write(job.output, epoch_rows(read_records(job.work, last), leading, signature))


def _take_part(notify: Notify, *, training: Training, epochs: int, work: Path) -> None:
    """Train, in this process or in one of several, which import the modules of the training."""
    with tensor_floats(training.training.precision):
        training.train(epochs=epochs, work=work, notify=notify)


def in_signature(training: Training) -> dict[str, Any]:
    """Return what signatures of tables of epochs say only where it is not the default: processes, precision."""
    precision = training.training.precision
    several = {"processes": training.processes} if training.processes > 1 else {}
    return several | ({"precision": precision} if precision != "float32" else {})


def fingerprint(training: Training) -> str:
    """Return a hash of everything that determines the weights: settings, data and the loaded code."""
    parts = {**training.fingerprint(), "code": hash_loaded_code()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def hash_loaded_code() -> list[str]:
    """Return the hashes of this package's modules that are loaded, in order of their paths."""
    modules = (module for name, module in sys.modules.items() if name.startswith("headroom"))
    return [sha256(path) for path in sorted(str(module.__file__) for module in modules if module.__file__)]


def claim(work: Path, expected: str) -> bool:
    """Claim a directory for a training; remove another training's files and return whether there were any.

    Incomplete files are removed too; files that no training writes are kept.
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


@dataclass(frozen=True)
class Progress:
    """Progress of training within an epoch; `speed` is in words or examples per second."""

    epoch: int
    update: int
    updates: int
    loss: float
    speed: float
    seconds_left: float


class ProgressLines:
    """Logs progress at the end of an epoch and every few seconds; can be pickled."""

    def __init__(self, logger: logging.Logger, epochs: int, unit: str) -> None:
        self._logger, self._epochs, self._unit = logger, epochs, unit
        self._timer = Timer(5.0)

    def __call__(self, progress: Progress) -> None:
        """Log progress if a line is due."""
        if self._timer.due(always=progress.update == progress.updates):
            self._logger.info(
                f"epoch {progress.epoch}/{self._epochs}  update {progress.update}/{progress.updates}  "
                f"loss {progress.loss:.3f}  {progress.speed:,.0f} {self._unit}/s  {clock(progress.seconds_left)} left"
            )


def epoch_rows(records: Iterable[EpochRecord], leading: Mapping[str, Any], signature: str) -> list[dict[str, Any]]:
    """Return the rows of a table of epochs, one per measure: all fields of a record except None."""
    return [
        {**leading, "epoch": record.epoch, "measure": measure, "value": value, "signature": signature}
        for record in records
        for measure, value in asdict(record).items()
        if measure != "epoch" and value is not None
    ]
