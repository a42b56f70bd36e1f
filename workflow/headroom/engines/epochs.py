"""Progress of trainings, records of their epochs, and terms that arms add to the loss."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from torch import Tensor

from headroom.core.files import sha256

Notify = Callable[["Progress"], None]


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
    """Return a function that logs progress when an epoch ends and every few seconds in between.

    Args:
        logger: Where the lines go.
        epochs: Number of the last epoch.
        unit: What the speed counts: words or examples.
        every: Seconds.
    """
    last = time.monotonic()

    def notify(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < every and progress.update < progress.updates:
            return
        last = now
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        logger.info(
            "epoch %d/%d  update %d/%d  loss %.3f  %s %s/s  %d:%02d left",
            progress.epoch,
            epochs,
            progress.update,
            progress.updates,
            progress.loss,
            f"{progress.speed:,.0f}",
            unit,
            minutes,
            seconds,
        )

    return notify


def epoch_rows(records: Iterable[Any], leading: Mapping[str, Any], signature: str) -> list[dict[str, Any]]:
    """Return the rows of a table of epochs, one per measure: all fields of a record but those that are None."""
    return [
        {**leading, "epoch": record.epoch, "measure": measure, "value": value, "signature": signature}
        for record in records
        for measure, value in asdict(record).items()
        if measure != "epoch" and value is not None
    ]


def loaded_code() -> list[str]:
    """Return the hashes of this package's modules that are loaded, in order of their paths."""
    modules = (module for name, module in sys.modules.items() if name.startswith("headroom"))
    return [sha256(path) for path in sorted(str(module.__file__) for module in modules if module.__file__)]


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
