"""The progress that a fine-tuning reports, and what it keeps of an epoch."""

# ruff: noqa: ARG002, D102 (the Trainer calls every callback with all of these, when its name says)

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from transformers import TrainerCallback, TrainingArguments

from headroom.core.errors import HeadroomError
from headroom.engines.classification.states import keep_model, mark_whole
from headroom.engines.processes import check_replicas, this_process, wait_for_all
from headroom.engines.sites import gradient_norm
from headroom.engines.training import EpochRecord, Notify, Progress, write_record


class HeadGradients(TrainerCallback):
    """Looks after the gradients of the heads before each update: rewrites them where an arm does, and measures them."""

    def __init__(
        self, weights: Sequence[nn.Parameter], rewrite: Callable[[int], None] | None, clip_norm: float
    ) -> None:
        """Say what to look after.

        Args:
            weights: The query, key and value weights of all sites.
            rewrite: Rewrites their gradients, given the number of updates made; None if the arm does not.
            clip_norm: Largest norm of all gradients after they are rewritten; 0 does not clip. Without `rewrite` the
                Trainer has clipped already.
        """
        self.weights = weights
        self.rewrite = rewrite
        self.clip_norm = clip_norm

    def on_epoch_begin(self, args: TrainingArguments, state: Any, control: Any, **kwargs: Any) -> None:
        self.norms: list[Tensor] = []
        self.plain: list[Tensor] = []

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Rewrite and clip: gradients are those of the whole update, and unscaled."""
        if self.rewrite:
            self.plain.append(gradient_norm(self.weights))
            self.rewrite(state.global_step)
            if self.clip_norm > 0:
                nn.utils.clip_grad_norm_(model.parameters(), self.clip_norm)
        self.norms.append(gradient_norm(self.weights))


class Recorder(TrainerCallback):
    """Tells of progress, and turns what the Trainer wrote after an epoch into model, record and whole state."""

    def __init__(self, work: Path, *, examples: int, gradients: HeadGradients, notify: Notify):
        self.work = work
        self.gradients = gradients
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
                "lower training.learning_rate, or use precision float32"
            )
        size = min(args.train_batch_size * args.world_size, self.examples - self.seen)
        self.update += 1
        self.seen += size
        self.loss += logs["loss"] * size
        self.norms.append(float(logs["grad_norm"]))
        seconds = time.perf_counter() - self.start
        left = seconds / self.update * (state.max_steps - state.global_step)
        speed = self.seen / seconds
        self.notify(Progress(self.epoch, self.update, self.updates, self.loss / self.seen, speed, left))

    def on_epoch_end(self, args: TrainingArguments, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self.seconds = time.perf_counter() - self.start
        check_replicas(model.parameters())
        state.log_history.clear()  # one entry per update, saved with each state

    def on_evaluate(
        self, args: TrainingArguments, state: Any, control: Any, metrics: Any = None, **kwargs: Any
    ) -> None:
        self.record = EpochRecord(
            epoch=self.epoch,
            train_loss=self.loss / self.seen,
            valid_loss=float(metrics["eval_nats"]),
            valid_accuracy=float(metrics["eval_accuracy"]),
            seconds=self.seconds,
            examples_per_second=self.seen / self.seconds,
            updates=state.global_step,
            gradient_norm=_mean(self.norms),
            head_gradient_norm=_mean([norm.item() for norm in self.gradients.norms]),
            plain_head_gradient_norm=_mean([norm.item() for norm in self.gradients.plain])
            if self.gradients.rewrite
            else None,
        )

    def on_save(self, args: TrainingArguments, state: Any, control: Any, **kwargs: Any) -> None:
        """Let the first process finish the state, to which each has added its generators."""
        wait_for_all()
        if this_process() > 0:
            return
        directory = self.work / "states" / f"checkpoint-{state.global_step}"
        (directory / "training_args.bin").unlink()  # a pickle that nobody reads
        write_record(self.record, self.work)
        keep_model(directory, self.work, self.epoch)
        mark_whole(directory, self.epoch)


def _mean(norms: Sequence[float]) -> float:
    finite = [norm for norm in norms if math.isfinite(norm)]  # float16 skips updates that overflow
    return sum(finite) / max(len(finite), 1)
