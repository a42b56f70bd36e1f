"""Trainings of tiny models of both engines: uninterrupted runs, killed runs, and their files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier import records
from headroom.engines.hub.classifier.trainer import Task
from headroom.engines.training import EpochRecord, Progress, Training, read_records
from headroom.settings.arms import BaselineArm
from headroom.settings.models import FineTuningSettings, ModelSettings, TrainingSettings
from safetensors.torch import load_file
from toy_fine_tuning import examples, fine_tune

EPOCHS = (1, 2, 3)

# Of translation.
SHAPE = ModelSettings(
    encoder_layers=2, decoder_layers=2, heads=2, width=16, feed_forward=16, dropout=0.2, attention_dropout=0.1
)
TRAINING = TrainingSettings(max_tokens=80, learning_rate=0.01, warmup_updates=5)

# Of classification.
SETTINGS = FineTuningSettings(epochs=3, learning_rate=0.01, batch_size=8, max_length=12, warmup_share=0.2)
TRAIN, VALID = examples(60, 0), examples(21, 1)
UPDATES = 8  # an epoch: 7 full batches of 8 and one of 4
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]

Notify = Callable[[Progress], None]


class KilledError(Exception):
    """Stands for a kill: training ends without another line being run."""


def killed_at(epoch: int, update: int) -> Notify:
    """Return a callback that kills a run after an update."""

    def notify(progress: Progress) -> None:
        if (progress.epoch, progress.update) == (epoch, update):
            raise KilledError

    return notify


@dataclass(frozen=True)
class Translation:
    """Trainings on what `toy_fairseq` wrote."""

    data: Path

    def training(self, *, seed: int = 1, model: ModelSettings = SHAPE, device: str = "cpu", **changes: Any) -> Training:
        from headroom.engines.fairseq.training import TranslationTraining

        return TranslationTraining(
            data=self.data,
            model=model,
            training=TrainingSettings(**{**TRAINING.model_dump(), **changes}),
            arm=BaselineArm(),
            arm_arguments=lambda *_: ["--optimizer", "adam"],
            seed=seed,
            device=device,
        )

    def arguments(self, **changes: Any) -> list[str]:
        return self.training(**changes).arguments

    def run(self, work: Path, *, until: int = 3, notify: Notify = lambda _: None, **changes: Any) -> list[EpochRecord]:
        self.training(**changes).train(epochs=until, work=work, notify=notify)
        return read_records(work, until)

    def weights(self, work: Path, epoch: float = 3) -> dict[str, torch.Tensor]:
        from headroom.engines.fairseq.checkpoint import load_state

        return load_state(work / f"epoch{epoch}.pt")["model"]

    def last_whole(self, work: Path, early: tuple[float, ...] = ()) -> int:
        from headroom.engines.fairseq.training import last_whole_epoch

        return last_whole_epoch(work, early=early)

    def models(self, epoch: float) -> list[str]:
        return [f"epoch{epoch}.pt"]

    def state(self, epoch: int) -> list[str]:
        return [f"state{epoch}.pt"]


@dataclass(frozen=True)
class Classification:
    """Trainings of an encoder that `toy_fine_tuning` wrote."""

    encoder: Path

    def run(
        self,
        work: Path,
        *,
        until: int | None = None,
        notify: Notify = lambda _: None,
        seed: int = 1,
        train: LabelledText = TRAIN,
        **changes: Any,
    ) -> list[EpochRecord]:
        work.mkdir(parents=True, exist_ok=True)
        settings = SETTINGS.model_copy(update=changes)
        return fine_tune(Task(self.encoder, train, VALID), settings, work, seed=seed, notify=notify, until=until)

    def weights(self, work: Path, epoch: float = 3) -> dict[str, torch.Tensor]:
        return load_file(work / f"epoch{epoch}" / "model.safetensors")

    def last_whole(self, work: Path, early: tuple[float, ...] = ()) -> int:
        return records.last_whole_epoch(work, early)[0]

    def models(self, epoch: float) -> list[str]:
        return [f"epoch{epoch}/{name}" for name in MODEL]

    def state(self, epoch: int) -> list[str]:
        names = ("optimizer.pt", "model.safetensors", "rng_state.pth", "complete.json")
        return [f"states/checkpoint-{epoch * UPDATES}/{name}" for name in names]


Kind = Translation | Classification


def same_models(kind: Kind, one: Path, other: Path, epochs: tuple[float, ...] = EPOCHS) -> bool:
    """Return whether two runs have the same bits after every epoch."""
    pairs = [(kind.weights(one, epoch), kind.weights(other, epoch)) for epoch in epochs]
    assert all(list(a) == list(b) for a, b in pairs)
    return all(torch.equal(a[name], b[name]) for a, b in pairs for name in a)


def kept(found: list[EpochRecord]) -> list[dict[str, Any]]:
    """Return records without what a clock has measured."""
    clocked = ("seconds", "words_per_second", "examples_per_second")
    return [{name: value for name, value in vars(record).items() if name not in clocked} for record in found]
