"""Fine-tuning with transformers' Trainer: one model per epoch, and states from which a killed training resumes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from headroom.core.errors import HeadroomError, disk_is_full
from headroom.core.files import cannot_write
from headroom.data.labelled import LabelledText
from headroom.engines.classification.records import HeadGradients, Recorder
from headroom.engines.classification.self_attentive import SelfAttentiveConfig, trains_in_bfloat16
from headroom.engines.classification.sites import find_sites
from headroom.engines.classification.states import WEIGHTS, discard_after, last_whole_epoch
from headroom.engines.classification.trainer import GroupingTrainer, StopAfter, encode, length, load_tokenizer
from headroom.engines.head_model import pick_device
from headroom.engines.processes import own_seed, process_count, this_process, wait_for_all
from headroom.engines.sites import AttentionSite, Projections
from headroom.engines.training import EpochRecord, Notify, Regulariser, read_records
from headroom.settings.models import FineTuningSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Changes:
    """What an arm changes in a training.

    Attributes:
        configuration: Entries of the encoder's configuration, by their names in transformers.
        rewriter: From the weights of the heads to what rewrites their gradients, given the number of updates made.
        regulariser: From the live sites to what acts on the forward pass.
        needs_maps: Whether the model must compute attention step by step, so that its weights can be seen.
    """

    configuration: Mapping[str, Any] = field(default_factory=dict)
    rewriter: Callable[[Projections], Callable[[int], None]] | None = None
    regulariser: Callable[[Sequence[AttentionSite]], Regulariser] | None = None
    needs_maps: bool = False


@dataclass(frozen=True)
class Task:
    """What is trained on what.

    Attributes:
        encoder: The directory that `headroom encoder` wrote.
        train: The training examples.
        valid: The examples that every epoch is judged on.
    """

    encoder: Path
    train: LabelledText
    valid: LabelledText


def fine_tune(
    *,
    task: Task,
    settings: FineTuningSettings,
    seed: int,
    device: str,
    work: Path,
    notify: Notify,
    until: int | None = None,
    changes: Changes = Changes(),
    callbacks: Sequence[TrainerCallback] = (),
) -> list[EpochRecord]:
    """Train to the last epoch or to an earlier one, going on from whatever whole state `work` holds.

    After each epoch `work` gets `epoch<e>/` (the model in the Hub's format), `epoch<e>.json` (the record) and a
    state; the two newest states are kept. Killed at any moment, a rerun repeats at most one epoch and, on the
    CPU, ends with the same bits: the order of the data is a function of seed and epoch, the rest is in the state.
    Of processes that train together (`headroom.engines.processes`) each has a part of every batch, and the first one
    writes.

    Args:
        task: Encoder and data.
        settings: How to train.
        seed: Seed of fresh weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        work: Directory of this run alone.
        notify: Called with the progress after each update.
        until: The epoch to stop after; None for the last.
        changes: What the arm changes.
        callbacks: More callbacks of the Trainer.

    Returns:
        One record per epoch, from the first.

    Raises:
        HeadroomError: If encoder and data do not fit each other, or the loss is no longer a number.
    """
    arguments = training_arguments(settings, encoder=task.encoder, seed=seed, device=device, work=work)
    last, state = last_whole_epoch(work)
    wait_for_all()  # each has to see what there is before the first one tidies up
    if this_process() == 0:
        discard_after(work, last)
    if last:
        logger.info("going on after epoch %d", last)
    until = min(until or settings.epochs, settings.epochs)
    if last < until:
        trainer = build_trainer(task, settings, arguments, changes)
        gradients = head_gradients(trainer.model, changes, settings.clip_norm)
        recorder = Recorder(work, examples=len(task.train), gradients=gradients, notify=notify)
        for callback in (gradients, recorder, StopAfter(until), *callbacks):
            trainer.add_callback(callback)
        torch.manual_seed(own_seed(seed, this_process()))  # of dropout
        _train(trainer, state, work)
    wait_for_all()
    return read_records(work, until)


def training_arguments(
    settings: FineTuningSettings, *, encoder: Path, seed: int, device: str, work: Path
) -> TrainingArguments:
    """Return the Trainer's arguments, for one of the processes that train together.

    Raises:
        HeadroomError: If they cannot be; see `check_training`.
    """
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
    """Raise HeadroomError if the seed is out of range, or device or processes cannot do what settings say."""
    on_cpu = pick_device(device).type == "cpu"
    if settings.precision == "float16" and on_cpu:
        raise HeadroomError("precision float16 needs CUDA, and this run is on the CPU: use bfloat16 or float32")
    if settings.precision == "bfloat16" and not on_cpu and not torch.cuda.is_bf16_supported():
        raise HeadroomError("precision bfloat16: this GPU cannot compute with it; use float16 or float32")
    if settings.precision == "bfloat16" and on_cpu and not _trains_in_bfloat16(encoder):
        raise HeadroomError(
            "precision bfloat16: this processor cannot run the LSTM of the self-attentive encoder in it; use float32"
        )
    if not 0 <= seed < 2**32:
        raise HeadroomError(f"--seed {seed}: must be from 0 to {2**32 - 1}")
    if settings.batch_size % processes:
        raise HeadroomError(
            f"{processes} processes cannot share a batch of {settings.batch_size}: make batch_size a multiple of "
            f"{processes}"
        )


def _trains_in_bfloat16(encoder: Path) -> bool:
    config = AutoConfig.from_pretrained(encoder, local_files_only=True, trust_remote_code=False)
    return not isinstance(config, SelfAttentiveConfig) or trains_in_bfloat16(config)


def build_trainer(
    task: Task, settings: FineTuningSettings, arguments: TrainingArguments, changes: Changes = Changes()
) -> Trainer:
    """Return the Trainer with model and encoded data."""
    if changes.rewriter:
        arguments.max_grad_norm = 0  # gradients are clipped after they are rewritten
    tokenizer = load_tokenizer(task.encoder, settings.max_length)
    model = build_model(task.encoder, arguments.seed, changes)
    train = encode(task.train, tokenizer, model.config)
    valid = sorted(encode(task.valid, tokenizer, model.config), key=length)  # less padding; the mean does not mind
    trainer = GroupingTrainer(
        model=model,
        args=arguments,
        data_collator=DataCollatorWithPadding(tokenizer),
        train_dataset=train,
        eval_dataset=valid,
        processing_class=tokenizer,
        compute_metrics=_judged,
        regulariser=changes.regulariser and changes.regulariser(find_sites(model)),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def build_model(encoder: Path, seed: int, changes: Changes = Changes()) -> PreTrainedModel:
    """Return a classifier; the weights that the directory does not have are fresh and depend on the seed alone."""
    set_seed(seed)
    config = AutoConfig.from_pretrained(
        encoder, local_files_only=True, trust_remote_code=False, **changes.configuration
    )
    attention = {"attn_implementation": "eager"} if changes.needs_maps else {}
    if not (encoder / WEIGHTS).is_file():
        return AutoModelForSequenceClassification.from_config(config, **attention)
    return AutoModelForSequenceClassification.from_pretrained(
        encoder,
        config=config,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
        **attention,
    )


def head_gradients(model: Any, changes: Changes, clip_norm: float) -> HeadGradients:
    """Return what looks after the gradients of the heads of a model in training."""
    projections = {
        live.site: [getattr(live.attention, name).weight for name in live.inputs[:3]]  # none of relative positions
        for live in find_sites(model)
    }
    rewrite = changes.rewriter and changes.rewriter(projections)
    return HeadGradients([weight for found in projections.values() for weight in found], rewrite, clip_norm)


def _train(trainer: Trainer, state: Path | None, work: Path) -> None:
    """Let the Trainer train, with its mishaps as errors that a user can act on."""
    try:
        trainer.train(resume_from_checkpoint=None if state is None else str(state))
    except torch.OutOfMemoryError as error:
        raise HeadroomError("out of GPU memory: lower training.batch_size or training.max_length") from error
    except (OSError, SafetensorError) as error:
        raise cannot_write(work, error) from error
    except RuntimeError as error:  # so torch says that it could not write
        if not disk_is_full(error):
            raise
        raise cannot_write(work, error) from error


def _judged(prediction: EvalPrediction) -> dict[str, float]:
    """Return accuracy and loss over all examples; the Trainer's own loss counts some twice if processes share them."""
    logits, labels = torch.tensor(prediction.predictions), torch.tensor(prediction.label_ids)
    return {
        "accuracy": float((logits.argmax(-1) == labels).double().mean()),
        "nats": float(torch.nn.functional.cross_entropy(logits.double(), labels)),
    }
