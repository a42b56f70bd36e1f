"""Fine-tuning with transformers: one model per epoch, and states from which a killed training resumes."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
from functools import partial

import torch
import transformers
from torch import Tensor
from transformers import AutoConfig, PreTrainedModel, Trainer, TrainingArguments

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, link, sha256
from headroom.core.table import signature
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.models.find_sites import CONFIGURATION, MODEL_FILES, TOKENIZER, count_cut, find_sites, writing
from headroom.models.self_attentive import SelfAttentiveConfig, trains_in_bfloat16
from headroom.models.sites import Projections, pick_device
from headroom.settings.arms import Arm, BaselineArm, GradientArm
from headroom.settings.models import FineTuningSettings
from headroom.training.classifier.records import HeadGradients, Recorder, discard_after, last_whole_epoch
from headroom.training.classifier.trainer import ArmHooks, StopAfter, Task, build_trainer, load_tokenizer
from headroom.training.processes import own_seed, process_count, this_process, wait_for_all
from headroom.training.repulsion.particles import GradientRewriter
from headroom.training.resumable import Notify, Training, check_precision, in_signature

logger = logging.getLogger(__name__)

_SETS = ("train", "choose", "check")


@dataclass(frozen=True, kw_only=True)
class FineTuning(Training[FineTuningSettings]):
    """The fine-tuning of one classifier.

    Attributes:
        corpus: The directory of the labelled corpus.
        encoder: The output directory of the stage encoder.
        changes_of: The changes of an arm, given the seed.
    """

    corpus: Path
    encoder: Path
    changes_of: Callable[[Arm, int], ArmHooks]

    unit = "examples"

    @cached_property
    def task(self) -> Task:
        """Encoder and data; errors as in `read_task`."""
        return read_task(self.corpus, self.encoder)

    def check(self) -> None:
        """Raise HeadroomError if settings, data, encoder and machine are incompatible."""
        encoder = self.task.encoder
        check_training(self.training, encoder=encoder, seed=self.seed, device=self.device, processes=self.processes)
        load_tokenizer(encoder, self.training.max_length)
        if self.cut:
            logger.warning("train: %d examples exceed max_length, %d tokens, and are cut", self.cut, self._longest)

    @cached_property
    def cut(self) -> int:
        """The number of training examples that are cut."""
        tokenizer = load_tokenizer(self.task.encoder, self._longest)
        return count_cut(tokenizer, self._longest, *self.task.train.sides)

    @property
    def _longest(self) -> int:
        return int(self.training.max_length)

    def fingerprint(self) -> Mapping[str, Any]:
        """Return everything that determines the weights, including the number of epochs for the learning rate."""
        files = [self.corpus / f"{name}.tsv" for name in _SETS]
        files += [self.encoder / name for name in MODEL_FILES if (self.encoder / name).is_file()]
        return {
            "settings": self.training.model_dump(exclude={"early_checkpoints"}),
            "arm": self.arm.model_dump(),
            "seed": self.seed,
            "device": pick_device(self.device).type,
            "processes": self.processes,
            "files": {path.name: sha256(path) for path in files},
            "versions": [torch.__version__, transformers.__version__],
        }

    def signature(self, arm: str) -> str:
        """Return the signature of the table of epochs."""
        return signature(
            seed=self.seed,
            arm=arm,
            learning_rate=self.training.learning_rate,
            batch_size=self.training.batch_size,
            max_length=self.training.max_length,
            **({"cut": self.cut} if self.cut else {}),
            **in_signature(self),
            torch=torch.__version__,
            transformers=transformers.__version__,
        )

    def train(self, *, epochs: int, work: Path, notify: Notify) -> None:
        """Fine-tune up to an epoch, resuming from the newest complete state in `work`.

        After each epoch `work` gets `epoch<e>/` (the model in the Hub's format), `epoch<e>.json` (the record) and a
        state; the two newest states are kept. Killed at any moment, a rerun repeats at most one epoch and, on the
        CPU, ends with the same bits: the order of the data is a function of seed and epoch, the rest is in the state.
        Inside the first epoch the models of the shares `early` are written as `epoch<share>/`.
        Each parallel process (`headroom.training.processes`) has a part of every batch, and the first one writes.

        Raises:
            HeadroomError: If encoder and data are incompatible, or the loss is not finite.
        """
        settings, encoder, early = self.training, self.task.encoder, self.early
        arguments = training_arguments(settings, encoder=encoder, seed=self.seed, device=self.device, work=work)
        last, state = last_whole_epoch(work, early)
        wait_for_all()  # all processes read the state before the first one removes files
        if this_process() == 0:
            discard_after(work, last)
        if last:
            logger.info("resuming after epoch %d", last)
        if last < epochs:
            changes = self.changes_of(self.arm, self.seed)
            trainer = build_trainer(self.task, settings, arguments, changes)
            gradients = head_gradients(trainer.model, changes, settings.clip_norm)
            recorder = Recorder(trainer, work, gradients=gradients, notify=notify, early=early)
            for callback in (gradients, recorder, StopAfter(epochs)):
                trainer.add_callback(callback)
            torch.manual_seed(own_seed(self.seed, this_process()))  # of dropout
            _train(trainer, state, work)
        wait_for_all()

    def export(self, work: Path, checkpoints: Path, epochs: Iterable[float]) -> None:
        """Copy the models of epochs, as hard links if the file system supports them."""
        for name in (f"epoch{epoch:g}/{name}" for epoch in epochs for name in MODEL_FILES):
            with atomic_path(checkpoints / name) as temporary:
                link(work / name, temporary)


def training_arguments(
    settings: FineTuningSettings, *, encoder: Path, seed: int, device: str, work: Path
) -> TrainingArguments:
    """Return the Trainer's arguments for one of the parallel processes; errors as in `check_training`."""
    check_training(settings, encoder=encoder, seed=seed, device=device, processes=process_count())
    on_cpu = pick_device(device).type == "cpu"
    arguments = TrainingArguments(
        output_dir=str(work / "states"),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size // process_count(),
        per_device_eval_batch_size=settings.batch_size,
        average_tokens_across_devices=False,  # would multiply a loss that is a mean already
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup_share,  # below 1: a share of all updates
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip_norm,
        bf16=settings.precision == "bfloat16",
        fp16=settings.precision == "float16",
        use_cpu=on_cpu,
        dataloader_pin_memory=not on_cpu,
        seed=seed,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
        report_to="none",
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # several GPUs would multiply the batch
    return arguments


def check_training(settings: FineTuningSettings, *, encoder: Path, seed: int, device: str, processes: int) -> None:
    """Raise HeadroomError if the seed is out of range, or device or processes do not support the settings."""
    on_cpu = check_precision(settings.precision, device)
    if settings.precision == "bfloat16" and not on_cpu and not torch.cuda.is_bf16_supported():
        raise HeadroomError("precision: this GPU does not support bfloat16; use float16 or float32")
    if settings.precision == "bfloat16" and on_cpu:
        config = AutoConfig.from_pretrained(encoder, local_files_only=True, trust_remote_code=False)
        if isinstance(config, SelfAttentiveConfig) and not trains_in_bfloat16(config):
            raise HeadroomError(
                "precision: this processor cannot run the LSTM of the self-attentive encoder in bfloat16; use float32"
            )
    if not 0 <= seed < 2**32:
        raise HeadroomError(f"--seed {seed}: out of range; give a number from 0 to {2**32 - 1}")
    if settings.batch_size % processes:
        raise HeadroomError(
            f"batch_size: {processes} processes cannot share {settings.batch_size} examples; make it a multiple of "
            f"{processes}"
        )


def head_gradients(model: PreTrainedModel, changes: ArmHooks, clip_norm: float) -> HeadGradients:
    """Return the callback that rewrites and measures the gradients of the heads of a model."""
    projections = {
        live.site: [projection.get_parameter("weight") for projection in live.query_key_value]
        for live in find_sites(model)
    }
    rewrite = changes.rewriter and changes.rewriter(projections)
    return HeadGradients(model, [weight for found in projections.values() for weight in found], rewrite, clip_norm)


def _train(trainer: Trainer, state: Path | None, work: Path) -> None:
    """Run the Trainer, with errors that a user can act on."""
    try:
        with writing(work):
            trainer.train(resume_from_checkpoint=None if state is None else str(state))
    except torch.OutOfMemoryError as error:
        raise HeadroomError(
            "out of GPU memory: the batch does not fit; lower training.batch_size or training.max_length"
        ) from error


def read_task(corpus: Path, encoder: Path) -> Task:
    """Return encoder and data; every epoch is evaluated on both halves of the validation set.

    Raises:
        HeadroomError: If a set is invalid, or the encoder was prepared for other labels.
    """
    labels, known = read_labelled_record(corpus)["labels"], _labels(encoder)
    if known != labels:
        raise HeadroomError(
            f"{encoder}: prepared for the labels {', '.join(known)}, but {corpus} has {', '.join(labels)}; "
            "rerun the stage encoder"
        )
    train, choose, check = (read_labelled(corpus / f"{name}.tsv", labels) for name in _SETS)
    second = None if choose.second is None or check.second is None else choose.second + check.second
    return Task(encoder, train, LabelledText(choose.first + check.first, second, choose.labels + check.labels))


def _labels(directory: Path) -> list[str]:
    """Return the labels of a prepared encoder, in the order of the classifier's outputs."""
    missing = [name for name in (CONFIGURATION, *TOKENIZER) if not (directory / name).is_file()]
    if missing:
        raise HeadroomError(f"{directory}: no {missing[0]}; give the output directory of the stage encoder")
    try:
        named = json.loads((directory / CONFIGURATION).read_text("utf-8"))["id2label"]
        return [named[str(index)] for index in range(len(named))]
    except (ValueError, KeyError) as error:
        raise HeadroomError(f"{directory / CONFIGURATION} names no labels; rerun the stage encoder") from error


def build_hooks(arm: Arm, seed: int) -> ArmHooks:
    """Return the changes of an arm to a fine-tuning."""
    given = {"num_attention_heads": arm.heads, "attention_probs_dropout_prob": arm.attention_dropout}
    configuration = {name: value for name, value in given.items() if value is not None}
    if isinstance(arm, BaselineArm) or arm.strength == 0:
        return ArmHooks(configuration)
    return ArmHooks(configuration, rewriter=partial(_rewriter, arm, seed))


def _rewriter(arm: GradientArm, seed: int, projections: Projections) -> Callable[[int], Tensor | None]:
    return GradientRewriter(projections, arm, seed=seed).rewrite


training = partial(FineTuning, changes_of=build_hooks)
"""Returns the training of a run in an arm, given its other arguments."""
