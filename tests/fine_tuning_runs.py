"""Fine-tuning of a tiny encoder: whole runs, runs that are killed, and what they leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from headroom.data.labelled import LabelledText
from headroom.engines.classification import training
from headroom.engines.training import EpochRecord, Progress
from headroom.settings.models import FineTuningSettings
from safetensors.torch import load_file
from toy_fine_tuning import examples, same

SETTINGS = FineTuningSettings(epochs=3, learning_rate=0.01, batch_size=8, max_length=12, warmup_share=0.2)
TRAIN, VALID = examples(60, 0), examples(21, 1)
UPDATES = 8  # an epoch: 7 full batches of 8 and one of 4
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
EPOCHS = (1, 2, 3)


class KilledError(Exception):
    """Stands for a kill: training ends without another line being run."""


def run(
    encoder: Path,
    work: Path,
    *,
    notify: Callable[[Progress], None] = lambda _: None,
    seed: int = 1,
    train: LabelledText = TRAIN,
    **changes: Any,
) -> list[EpochRecord]:
    """Fine-tune with `SETTINGS`, some of them changed."""
    work.mkdir(parents=True, exist_ok=True)
    return training.fine_tune(
        task=training.Task(encoder, train, VALID),
        settings=SETTINGS.model_copy(update=changes),
        seed=seed,
        device="cpu",
        work=work,
        notify=notify,
    )


def weights(work: Path, epoch: int = 3) -> dict[str, torch.Tensor]:
    """Return the weights after an epoch."""
    return load_file(work / f"epoch{epoch}" / "model.safetensors")


def same_models(one: Path, other: Path) -> bool:
    """Return whether two runs have the same bits after every epoch."""
    return all(same(weights(one, epoch), weights(other, epoch)) for epoch in EPOCHS)


def killed_at(epoch: int, update: int) -> Callable[[Progress], None]:
    """Return what kills a run after an update."""

    def notify(progress: Progress) -> None:
        if (progress.epoch, progress.update) == (epoch, update):
            raise KilledError

    return notify
