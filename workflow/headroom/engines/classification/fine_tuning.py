"""A classifier's training as the shell of all trainings sees it: data, encoder, settings and arm of one run."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers

from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.core.table import signature
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.engines.classification.states import CONFIGURATION, MODEL_FILES, TOKENIZER
from headroom.engines.classification.trainer import load_tokenizer
from headroom.engines.classification.training import Changes, Task, check_training, fine_tune
from headroom.engines.head_model import pick_device
from headroom.engines.training import Notify
from headroom.settings.arms import Arm
from headroom.settings.models import FineTuningSettings

_SETS = ("train", "choose", "check")


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """The fine-tuning of one classifier; see `headroom.engines.training.Training`.

    Attributes:
        corpus: The directory of the labelled corpus.
        encoder: The directory that `headroom encoder` wrote.
        training: How to train.
        arm: The way to train.
        changes_of: What an arm changes, given the seed.
        seed: Seed of fresh weights, data order and dropout.
        device: `auto`, `cpu` or `cuda`.
        processes: Number of processes that share every batch.
    """

    corpus: Path
    encoder: Path
    training: FineTuningSettings
    arm: Arm
    changes_of: Callable[[Arm, int], Changes]
    seed: int
    device: str
    processes: int = 1

    unit = "examples"

    @property
    def epochs(self) -> int:
        """Number of the last epoch."""
        return self.training.epochs

    @cached_property
    def task(self) -> Task:
        """Encoder and data; errors as of `read_task`."""
        return read_task(self.corpus, self.encoder)

    def check(self) -> None:
        """Raise HeadroomError if settings, data, encoder and machine do not fit each other."""
        encoder = self.task.encoder
        check_training(self.training, encoder=encoder, seed=self.seed, device=self.device, processes=self.processes)
        load_tokenizer(encoder, self.training.max_length)

    def fingerprint(self) -> Mapping[str, Any]:
        """Return all that makes the weights; the number of epochs too: the rate falls to zero at the last one."""
        files = [self.corpus / f"{name}.tsv" for name in _SETS]
        files += [self.encoder / name for name in MODEL_FILES if (self.encoder / name).is_file()]
        return {
            "settings": self.training.model_dump(),
            "arm": self.arm.model_dump(),
            "seed": self.seed,
            "device": pick_device(self.device).type,
            "processes": self.processes,
            "files": {path.name: sha256(path) for path in files},
            "versions": [torch.__version__, transformers.__version__],
        }

    def signature(self, arm: str) -> str:
        """Return what affects the table of epochs."""
        return signature(
            seed=self.seed,
            arm=arm,
            learning_rate=self.training.learning_rate,
            batch_size=self.training.batch_size,
            max_length=self.training.max_length,
            **({"processes": self.processes} if self.processes > 1 else {}),
            torch=torch.__version__,
            transformers=transformers.__version__,
        )

    def train(self, *, epochs: int, work: Path, notify: Notify) -> None:
        """Fine-tune up to an epoch."""
        fine_tune(
            task=self.task,
            settings=self.training,
            seed=self.seed,
            device=self.device,
            work=work,
            notify=notify,
            until=epochs,
            changes=self.changes_of(self.arm, self.seed),
        )

    def files(self, epoch: int) -> Sequence[str]:
        """Return the files of an epoch's model."""
        return [f"epoch{epoch}/{name}" for name in MODEL_FILES]


def read_task(corpus: Path, encoder: Path) -> Task:
    """Return encoder and data; every epoch is judged on both halves of the validation set.

    Raises:
        HeadroomError: If a set is not sound, or the encoder was prepared for other labels.
    """
    labels = read_labelled_record(corpus)["labels"]
    if read_labels(encoder) != labels:
        raise HeadroomError(
            f"{encoder} was prepared for the labels {', '.join(read_labels(encoder))}, and {corpus} has "
            f"{', '.join(labels)}: run headroom encoder again"
        )
    train, choose, check = (read_labelled(corpus / f"{name}.tsv", labels) for name in _SETS)
    second = None if choose.second is None or check.second is None else choose.second + check.second
    return Task(encoder, train, LabelledText(choose.first + check.first, second, choose.labels + check.labels))


def read_labels(directory: Path) -> list[str]:
    """Return the labels that an encoder was prepared for, in the order of the classifier's outputs.

    Raises:
        HeadroomError: If `headroom encoder` did not write the directory.
    """
    missing = [name for name in (CONFIGURATION, *TOKENIZER) if not (directory / name).is_file()]
    if missing:
        raise HeadroomError(f"{directory} has no {missing[0]}: give the directory that headroom encoder wrote")
    try:
        named = json.loads((directory / CONFIGURATION).read_text("utf-8"))["id2label"]
        return [named[str(index)] for index in range(len(named))]
    except (ValueError, KeyError) as error:
        raise HeadroomError(f"{directory / CONFIGURATION} names no labels: run headroom encoder again") from error
