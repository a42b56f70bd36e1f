"""transformers' Trainer in this project: model, data, batches, and the changes of an arm."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import numpy
import torch
from accelerate.data_loader import prepare_data_loader  # type: ignore[import-untyped]
from torch import Tensor
from torch.utils.data import DataLoader, Sampler
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from headroom.core.errors import HeadroomError
from headroom.core.order_checks import LEVEL, find_wrong_order
from headroom.data.labelled import LabelledText
from headroom.models.checkpoint import read_tokenizer
from headroom.models.find_sites import WEIGHTS, plain
from headroom.models.sites import Projections
from headroom.settings.models import FineTuningSettings
from headroom.training.processes import process_count, sum_over_processes, this_process

Examples = list[dict[str, Any]]


@dataclass(frozen=True)
class ArmHooks:
    """The changes of an arm to a training.

    Attributes:
        configuration: Entries of the encoder's configuration, by their names in transformers.
        rewriter: From the weights of the heads to a function that rewrites their gradients, given the number of
            updates, and returns the ratio of repulsion to gradient, (), if it repels.
    """

    configuration: Mapping[str, Any] = field(default_factory=dict)
    rewriter: Callable[[Projections], Callable[[int], Tensor | None]] | None = None


NO_CHANGES = ArmHooks()


@dataclass(frozen=True)
class Task:
    """The output directory of the stage encoder, the training examples, and the validation examples."""

    encoder: Path
    train: LabelledText
    valid: LabelledText


def build_trainer(
    task: Task, settings: FineTuningSettings, arguments: TrainingArguments, changes: ArmHooks = NO_CHANGES
) -> "GroupingTrainer":
    """Return the Trainer with model and encoded data."""
    if changes.rewriter:
        arguments.max_grad_norm = 0  # gradients are clipped after rewriting
    tokenizer = load_tokenizer(task.encoder, settings.max_length)
    model = build_model(task.encoder, arguments.seed, changes)
    train = encode(task.train, tokenizer, model.config)
    valid = sorted(
        encode(task.valid, tokenizer, model.config), key=length
    )  # less padding; the mean does not depend on the order
    names: Any = model.config.id2label
    trainer = GroupingTrainer(
        model=model,
        args=arguments,
        data_collator=DataCollatorWithPadding(tokenizer),
        train_dataset=train,
        eval_dataset=valid,
        processing_class=tokenizer,
        compute_metrics=partial(_judge_prediction, labels=[names[one] for one in sorted(names)]),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def build_model(encoder: Path, seed: int, changes: ArmHooks = NO_CHANGES) -> PreTrainedModel:
    """Return a classifier; weights that are not in the directory are new and depend only on the seed."""
    set_seed(seed)
    config = AutoConfig.from_pretrained(
        encoder, local_files_only=True, trust_remote_code=False, **changes.configuration
    )
    if not (encoder / WEIGHTS).is_file():
        return AutoModelForSequenceClassification.from_config(config)
    return AutoModelForSequenceClassification.from_pretrained(
        encoder,
        config=config,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
    )


def _judge_prediction(prediction: EvalPrediction, labels: Sequence[str]) -> dict[str, float]:
    """Return accuracy and loss over all examples; with several processes the Trainer's loss counts some twice.

    Raises:
        HeadroomError: If the examples have their labels in another order than those of the training.
    """
    logits, gold = torch.tensor(prediction.predictions), torch.tensor(prediction.label_ids)
    answers = logits.argmax(-1)
    if found := find_wrong_order(gold.numpy(), answers.numpy(), len(labels), level=LEVEL / 10):
        raise HeadroomError(
            f"training: on the validation set {found.describe(labels)};\n"
            "the files for training and validation have different labels for the same: correct one"
        )
    return {
        "accuracy": float((answers == gold).double().mean()),
        "nats": float(torch.nn.functional.cross_entropy(logits.double(), gold)),
    }


def load_tokenizer(encoder: Path, max_length: int) -> PreTrainedTokenizerBase:
    """Return a prepared encoder's tokenizer with truncation to a length; HeadroomError if it is too long."""
    tokenizer = read_tokenizer(encoder)
    if max_length > tokenizer.model_max_length:
        raise HeadroomError(
            f"--max-length {max_length}: exceeds the encoder's maximum; give at most {tokenizer.model_max_length}"
        )
    tokenizer.model_max_length = max_length
    return plain(tokenizer)


def encode(text: LabelledText, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> Examples:
    """Return the model's inputs: indices of tokens, truncated to the tokenizer's length, and of labels."""
    found = tokenizer(text.first, text.second, truncation=True, padding=False)
    plain(tokenizer)  # it is saved with the model
    numbers: Any = config.label2id
    # a model with a single segment type has no embedding for the second sentence
    names = [name for name in found if name != "token_type_ids" or getattr(config, "type_vocab_size", 0) > 1]
    return [
        {**{name: found[name][index] for name in names}, "labels": numbers[label]}
        for index, label in enumerate(text.labels)
    ]


def length(example: dict[str, Any]) -> int:
    """Return the number of tokens of an example."""
    return len(example["input_ids"])


class GroupedBatches(Sampler[list[int]]):
    """Batches of examples of about equal length, in an order that depends only on seed and epoch.

    Examples are shuffled and sorted by length within pools of 50 batches, then the batches are shuffled;
    an incomplete batch is the last. Each parallel process has a part of every batch; a process without examples of a
    small last batch gets its first example, which is not counted (`has_part`).
    """

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int, part: int = 0, parts: int = 1):
        self.lengths = numpy.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.part = part
        self.parts = parts
        self.epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self._batches():
            yield batch[self.part :: self.parts] or batch[:1]

    def has_part(self, number: int) -> bool:
        """Return whether a batch of an epoch, counted from 0, has examples for this part."""
        return self.part < min(self.batch_size, len(self.lengths) - number * self.batch_size)

    def _batches(self) -> Iterator[list[int]]:
        random = numpy.random.default_rng((self.seed, self.epoch))
        order = random.permutation(len(self.lengths))
        full, pool = len(order) // self.batch_size * self.batch_size, 50 * self.batch_size
        pools = [order[start : min(start + pool, full)] for start in range(0, full, pool)]
        grouped = [one[numpy.argsort(self.lengths[one], kind="stable")] for one in pools]
        batches = numpy.concatenate([order[:0], *grouped]).reshape(-1, self.batch_size)
        yield from random.permutation(batches).tolist()
        if full < len(order):
            yield order[full:].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, from 0; the Trainer calls this, also when it resumes."""
        self.epoch = epoch


class StopAfter(TrainerCallback):
    """Ends a training after the evaluation and saving of an epoch."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:  # noqa: ARG002
        """Request the end of training."""
        control.should_training_stop = round(state.epoch or 0) >= self._epoch


class GroupingTrainer(Trainer):
    """The Trainer with `GroupedBatches`, since its own grouping orders the batches by length.

    Each parallel process has a part of every batch. Losses are weighted so that the mean of gradients over processes,
    which the Trainer computes, equals the gradient of one process on the whole batch.
    """

    model: PreTrainedModel
    train_dataset: Examples

    def compute_loss(self, model: Any, inputs: Any, *rest: Any, **options: Any) -> Any:
        """Return the loss of a batch, in training weighted by this process's share of the examples."""
        loss: Any = super().compute_loss(model, inputs, *rest, **options)
        return loss * self._share(inputs["labels"]) if model.training else loss

    def _share(self, labels: Tensor) -> Tensor | float:
        """Return the ratio of a process's part of a batch, with these labels, to an equal share."""
        if process_count() == 1:
            return 1.0
        counts = self._batches.has_part(self.state.global_step % len(self._batches))
        counted = labels.new_tensor(len(labels) * counts)
        return counted * process_count() / sum_over_processes(counted)

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches of an epoch, or this process's part of each."""
        examples: Any = self.train_dataset  # a list serves as a data set
        self._batches = GroupedBatches(
            [length(example) for example in examples],
            batch_size=self.args.train_batch_size * process_count(),
            seed=self.args.seed,
            part=this_process(),
            parts=process_count(),
        )
        loader = DataLoader(
            examples,
            batch_sampler=self._batches,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )
        # as in accelerate, except for the parts, which it would equalise by repeating examples
        return prepare_data_loader(
            loader, self.accelerator.device, num_processes=1, process_index=0, put_on_device=True
        )
