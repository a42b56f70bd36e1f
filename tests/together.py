"""Trainings of tiny models of both engines, in one process or in several, which import this module."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from headroom.core.errors import HeadroomError
from headroom.engines.processes import process_count, this_process
from headroom.engines.training import Training
from headroom.settings.arms import Arm, BaselineArm, SposArm
from headroom.settings.models import FineTuningSettings, ModelSettings, TrainingSettings

NOISY = SposArm(beta=100.0)
"""With noise about as large as the gradients."""

EARLY = (0.5,)
TRAINING = TrainingSettings(
    max_tokens=40,
    update_frequency=4,
    learning_rate=0.01,
    warmup_updates=5,
    clip_norm=1.0,
    weight_decay=0.01,
    early_checkpoints=EARLY,
)
FINE_TUNING = FineTuningSettings(
    epochs=2, early_checkpoints=EARLY, learning_rate=0.003, batch_size=8, max_length=12, clip_norm=0.5
)


class StoppedError(Exception):
    """Stands for a kill of all processes at once."""


@dataclass(frozen=True)
class Translation:
    """The files of `toy_fairseq`, and the removed heads."""

    data: Path
    profile: str = ""
    dropout: float = 0.0

    @property
    def dropping(self) -> "Translation":
        return replace(self, dropout=0.2)

    def training(self, arm: Arm, processes: int, seed: int = 1) -> Training:
        from headroom.engines.fairseq.arms import arm_arguments
        from headroom.engines.fairseq.training import TranslationTraining

        drop = {"dropout": self.dropout, "attention_dropout": self.dropout / 2}
        return TranslationTraining(
            data=self.data,
            model=ModelSettings(encoder_layers=2, decoder_layers=2, heads=2, width=16, feed_forward=16, **drop),
            training=TRAINING,
            arm=arm,
            arm_arguments=lambda arm, _: arm_arguments(arm, seed),
            seed=1,
            device="cpu",
            processes=processes,
            removed=self.profile,
        )

    def arguments(self, processes: int = 1) -> list[str]:
        return self.training(BaselineArm(), processes).arguments

    def run(self, work: Path, *, arm: Arm, seed: int = 1, notify: Any = lambda _: None, stop: bool = False) -> None:
        """Train one model, as one of so many processes as there are; `stop` after the first epoch."""
        self.training(arm, process_count(), seed).train(epochs=1 if stop else 2, work=work, notify=notify)
        if stop:
            raise StoppedError

    def weights(self, work: Path, epoch: float = 2) -> dict[str, Any]:
        from headroom.engines.fairseq.checkpoint import load_state

        return load_state(work / f"epoch{epoch}.pt")["model"]

    def forbid_writing(self) -> None:
        """Let every attempt to write a file in this process fail."""
        from headroom.engines.fairseq import checkpoint, training

        for module in (training, checkpoint):
            module.atomic_path = refuse  # type: ignore[attr-defined]
        training.write_record = refuse
        training.Trainer.save_checkpoint = refuse


@dataclass(frozen=True)
class Classification:
    """An encoder that `toy_fine_tuning` wrote, and the number of examples."""

    encoder: Path
    examples: int = 43
    """Of the last batch, three examples, the first of two processes has two."""

    @property
    def dropping(self) -> "Classification":
        from toy_fine_tuning import write_toy_encoder

        return replace(self, encoder=write_toy_encoder(self.encoder.with_name("dropping")))

    def run(self, work: Path, *, arm: Arm, seed: int = 1, notify: Any = lambda _: None, stop: bool = False) -> None:
        """Train one classifier, as one of so many processes as there are; `stop` before the tenth update."""
        from headroom.engines.hub.classifier.trainer import Task
        from toy_fine_tuning import examples, fine_tune
        from transformers import TrainerCallback

        class Stop(TrainerCallback):  # type: ignore[misc]
            def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
                if state.global_step == 9:
                    raise StoppedError

        task = Task(self.encoder, examples(self.examples, 0), examples(21, 1))
        stops = [Stop()] if stop else []
        fine_tune(task, FINE_TUNING, work, arm=arm, arm_seed=seed, notify=notify, callbacks=stops)

    def weights(self, work: Path, epoch: float = 2) -> dict[str, Any]:
        from safetensors.torch import load_file

        return load_file(work / f"epoch{epoch}" / "model.safetensors")

    def forbid_writing(self) -> None:
        """Let attempts to write models, records and marks fail in this process; its generators' state is its own."""
        from headroom.engines.hub.classifier import records, training

        for name in ("keep_model", "mark_whole", "write_record"):
            setattr(records, name, refuse)
        training.discard_after = refuse


Kind = Translation | Classification


def translation(place: Path) -> Translation:
    """Write data, and return what trains on it."""
    from fairseq_models import write_data

    return Translation(write_data(place / "data"))


def classification(place: Path) -> Classification:
    """Write an encoder without dropout, and return what trains it."""
    from toy_fine_tuning import write_toy_encoder

    encoder = write_toy_encoder(place / "encoder")
    config = json.loads((encoder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (encoder / "config.json").write_text(json.dumps(config))
    return Classification(encoder)


def ignore(_: Any) -> None:
    """Report no progress."""


def note(progress: Any, *, place: Path) -> None:
    """Add progress to a file."""
    with open(place / "progress", "a") as stream:
        stream.write(json.dumps(asdict(progress)) + "\n")


def train_all(notify: Callable[[Any], None], *, kind: Kind, place: Path, arms: Mapping[str, Arm]) -> None:
    """Train under every arm."""
    if this_process() > 0:
        kind.forbid_writing()
    for name, arm in arms.items():
        kind.run(place / name, arm=arm, notify=notify)


def train_and_stop(
    notify: Callable[[Any], None], *, kind: Kind, dropping: Kind, place: Path, arms: Mapping[str, Arm]
) -> None:
    """Train under every arm, then with dropout in one go and in two, and last so that replicas differ."""
    train_all(notify, kind=kind, place=place, arms=arms)
    dropping.run(place / "whole", arm=NOISY)
    with pytest.raises(StoppedError):
        dropping.run(place / "cut", arm=NOISY, stop=True)
    dropping.run(place / "cut", arm=NOISY)
    with pytest.raises(HeadroomError, match="their weights diverged"):
        kind.run(place / "apart", arm=NOISY, seed=1 + this_process())


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("a process that is not the first one writes")
