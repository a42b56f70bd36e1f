"""What a fine-tuning tells while it runs, and what it keeps of an epoch."""

# ruff: noqa: ARG002, D102 (the Trainer calls every callback with all of these, when its name says)

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainingArguments

from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path
from headroom.models.classification.states import keep_model, mark_whole

Notify = Callable[["Progress"], None]


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch cost and gained. Losses are in nats per example; the gradient norm is that before clipping."""

    epoch: int
    train_loss: float
    valid_loss: float
    valid_accuracy: float
    seconds: float
    examples_per_second: float
    updates: int
    gradient_norm: float


@dataclass(frozen=True)
class Progress:
    """Where training stands within an epoch."""

    epoch: int
    update: int
    updates: int
    loss: float
    examples_per_second: float
    seconds_left: float


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record that `fine_tune` left of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))


class Recorder(TrainerCallback):
    """Tells of progress, and turns what the Trainer wrote after an epoch into model, record and whole state."""

    def __init__(self, work: Path, *, examples: int, notify: Notify):
        self.work = work
        self.examples = examples
        self.notify = notify

    def on_epoch_begin(self, args: TrainingArguments, state: Any, control: Any, **kwargs: Any) -> None:
        self.epoch = round(state.epoch or 0) + 1
        self.updates = state.max_steps // round(args.num_train_epochs)
        self.update, self.loss, self.seen = 0, 0.0, 0
        self.norms: list[float] = []
        self.start = time.perf_counter()

    def on_log(self, args: TrainingArguments, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Take the loss of one update: logs come after each."""
        if "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            raise HeadroomError(
                f"the loss of update {state.global_step} (epoch {self.epoch}) is {logs['loss']}: "
                "lower fine_tuning.learning_rate, or use precision float32"
            )
        size = min(args.train_batch_size, self.examples - self.seen)
        self.update += 1
        self.seen += size
        self.loss += logs["loss"] * size
        self.norms.append(float(logs["grad_norm"]))
        seconds = time.perf_counter() - self.start
        left = seconds / self.update * (state.max_steps - state.global_step)
        speed = self.seen / seconds
        self.notify(Progress(self.epoch, self.update, self.updates, self.loss / self.seen, speed, left))

    def on_epoch_end(self, args: TrainingArguments, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds = time.perf_counter() - self.start
        state.log_history.clear()  # one entry per update, saved with each state

    def on_evaluate(
        self, args: TrainingArguments, state: Any, control: Any, metrics: Any = None, **kwargs: Any
    ) -> None:
        finite = [norm for norm in self.norms if math.isfinite(norm)]  # float16 skips updates that overflow
        self.record = EpochRecord(
            epoch=self.epoch,
            train_loss=self.loss / self.seen,
            valid_loss=float(metrics["eval_loss"]),
            valid_accuracy=float(metrics["eval_accuracy"]),
            seconds=self.seconds,
            examples_per_second=self.seen / self.seconds,
            updates=state.global_step,
            gradient_norm=sum(finite) / max(len(finite), 1),
        )

    def on_save(self, args: TrainingArguments, state: Any, control: Any, **kwargs: Any) -> None:
        directory = self.work / "states" / f"checkpoint-{state.global_step}"
        (directory / "training_args.bin").unlink()  # a pickle that nobody reads
        with atomic_path(self.work / f"epoch{self.epoch}.json") as temporary:
            temporary.write_text(json.dumps(asdict(self.record)), "utf-8")
        keep_model(directory, self.work, self.epoch)
        mark_whole(directory, self.epoch)
