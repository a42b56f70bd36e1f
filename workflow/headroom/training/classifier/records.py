"""Progress of a fine-tuning, and its resumable state in the working directory.

epoch1/ epoch1.json  epoch2/ epoch2.json ...   the model and the record of every epoch
epoch0.5/ ...                                  the models of early checkpoints
states/checkpoint-<updates>/                   written by the Trainer: model, optimizer, schedule, generators
states/checkpoint-<updates>/complete.json      written last: the epoch, and SHA-256 of every file
"""

# ruff: noqa: ARG002, D102 (the Trainer calls every callback with all of its arguments)

import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

from torch import Tensor, nn
from transformers import TrainerCallback, TrainerState, TrainingArguments

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, link, remove, sha256
from headroom.models.find_sites import MODEL_FILES
from headroom.models.sites import gradient_norm
from headroom.settings.job import read_epoch
from headroom.training.classifier.trainer import GroupingTrainer
from headroom.training.processes import check_replicas, this_process, wait_for_all
from headroom.training.resumable import EpochRecord, Notify, Progress, early_due, write_record

MARK = "complete.json"


def last_whole_epoch(work: Path, early: Sequence[float] = ()) -> tuple[int, Path | None]:
    """Return the newest epoch from which training can resume, with its state; (0, None) if there is none.

    `early` has the shares of the first epoch whose models must be there too.
    """
    marked = [(_read_marked_epoch(path), path) for path in (work / "states").glob("checkpoint-*")]
    for epoch, state in sorted(marked, reverse=True):
        kept = all(_has_model(work, earlier) for earlier in (*early, *range(1, epoch + 1)))
        if epoch and kept and _is_whole(state):
            return epoch, state
    return 0, None


def discard_after(work: Path, epoch: int) -> None:
    """Remove files newer than an epoch, and incomplete states."""
    for state in (work / "states").glob("checkpoint-*"):
        if not 0 < _read_marked_epoch(state) <= epoch:
            shutil.rmtree(state)
    for path in work.glob("epoch*"):
        if read_epoch(path.name.removesuffix(".json")) > epoch:
            remove(path)


def keep_model(state: Path, work: Path, epoch: float) -> None:
    """Copy the model of a state to `epoch<e>/`: the state will be removed, the model is kept."""
    place = Path(tempfile.mkdtemp(dir=work, prefix=f".epoch{epoch:g}."))
    for name in MODEL_FILES:
        link(state / name, place / name)
    place.chmod(0o755)
    final = work / f"epoch{epoch:g}"
    if final.exists():
        shutil.rmtree(final)
    place.rename(final)


def mark_whole(state: Path, epoch: int) -> None:
    """Mark a state as complete, and remove those before the last one."""
    files = {path.name: sha256(path) for path in sorted(state.iterdir()) if not path.name.startswith(".")}
    with atomic_path(state / MARK) as temporary:
        temporary.write_text(json.dumps({"epoch": epoch, "sha256": files}, indent=2), "utf-8")
    for other in state.parent.glob("checkpoint-*"):
        if _read_marked_epoch(other) < epoch - 1:
            shutil.rmtree(other)


def _has_model(work: Path, epoch: float) -> bool:
    record = [work / f"epoch{epoch}.json"] if epoch >= 1 else []  # a share of the first epoch has none
    return all(path.is_file() for path in [*record, *(work / f"epoch{epoch:g}" / name for name in MODEL_FILES)])


def _read_marked_epoch(state: Path) -> int:
    """Return the epoch that a state's mark names, 0 if there is no mark."""
    try:
        return int(json.loads((state / MARK).read_text("utf-8"))["epoch"])
    except (OSError, ValueError, KeyError):
        return 0


def _is_whole(state: Path) -> bool:
    """Return whether every file is unchanged since the state was marked."""
    expected = json.loads((state / MARK).read_text("utf-8"))["sha256"]
    try:
        return all(sha256(state / name) == value for name, value in expected.items())
    except OSError:
        return False


class HeadGradients(TrainerCallback):
    """Rewrites the gradients of the heads before each update, if the arm does, and measures them."""

    def __init__(
        self,
        model: nn.Module,
        weights: Sequence[nn.Parameter],
        rewrite: Callable[[int], Tensor | None] | None,
        clip_norm: float,
    ) -> None:
        """Store a model, and the query, key and value weights of all its sites.

        `rewrite` rewrites their gradients, given the number of updates. `clip_norm` is the maximum norm of all
        gradients afterwards (0 does not clip); without `rewrite` the Trainer has already clipped.
        """
        self.model = model
        self.weights = weights
        self.rewrite = rewrite
        self.clip_norm = clip_norm

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        self.norms: list[Tensor] = []
        self.plain: list[Tensor] = []
        self.ratios: list[Tensor] = []

    def on_pre_optimizer_step(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        """Rewrite and clip: gradients are those of the whole update, and unscaled."""
        if self.rewrite:
            self.plain.append(gradient_norm(self.weights))
            ratio = self.rewrite(state.global_step)
            self.ratios += [] if ratio is None else [ratio]
            if self.clip_norm > 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.norms.append(gradient_norm(self.weights))


class Recorder(TrainerCallback):
    """Reports progress, and converts the Trainer's output of an epoch into model, record and complete state."""

    def __init__(
        self, trainer: GroupingTrainer, work: Path, *, gradients: HeadGradients, notify: Notify, early: Sequence[float]
    ) -> None:
        """Store what it reads and calls; models are kept after the shares `early` of the first epoch."""
        self.save = trainer.save_model
        self.examples = len(trainer.train_dataset)
        self.work = work
        self.gradients = gradients
        self.notify = notify
        self.early = early

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        self.epoch = round(state.epoch or 0) + 1
        self.updates = state.max_steps // round(args.num_train_epochs)
        self.update, self.loss, self.seen = 0, 0.0, 0
        self.norms: list[float] = []
        self.start = time.perf_counter()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        """Keep the model after a share of the first epoch, in the first process; the time does not count."""
        if self.epoch > 1 or this_process() > 0:
            return
        before = time.perf_counter()
        for share in early_due(self.early, state.global_step, self.updates):
            with tempfile.TemporaryDirectory(dir=self.work, prefix=f".epoch{share:g}.") as place:
                self.save(place)
                keep_model(Path(place), self.work, share)
        self.start += time.perf_counter() - before

    def on_log(self, args: TrainingArguments, state: TrainerState, *_: object, logs: Any = None, **__: object) -> None:
        """Record the loss of an update: the Trainer logs after each."""
        if "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            raise HeadroomError(
                f"update {state.global_step} (epoch {self.epoch}): the loss is {logs['loss']}; "
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

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        self.seconds = time.perf_counter() - self.start
        check_replicas(self.gradients.model.parameters())
        state.log_history.clear()  # one entry per update, saved with each state

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, *_: object, metrics: Any = None, **__: object
    ) -> None:
        plain, ratios = self.gradients.plain, self.gradients.ratios
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
            plain_head_gradient_norm=_mean([norm.item() for norm in plain]) if self.gradients.rewrite else None,
            repulsion_ratio=_mean([ratio.item() for ratio in ratios]) if ratios else None,
        )

    def on_save(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        """Complete the state in the first process; each process has added its generators."""
        wait_for_all()
        if this_process() > 0:
            return
        directory = self.work / "states" / f"checkpoint-{state.global_step}"
        (directory / "training_args.bin").unlink()  # an unused pickle
        write_record(self.record, self.work)
        keep_model(directory, self.work, self.epoch)
        mark_whole(directory, self.epoch)


def _mean(norms: Sequence[float]) -> float:
    finite = [norm for norm in norms if math.isfinite(norm)]  # float16 skips updates that overflow
    return sum(finite) / max(len(finite), 1)
