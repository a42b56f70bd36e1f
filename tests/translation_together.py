"""Trainings of tiny translation models, by one process or by several, each of which imports this."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from headroom.core.errors import HeadroomError
from headroom.engines.processes import process_count, this_process
from headroom.engines.translation import checkpoint, training
from headroom.engines.translation.fairseq_task import fairseq_arguments
from headroom.methods.translation_arms import arm_arguments
from headroom.settings.arms import Arm, SposArm
from headroom.settings.models import ModelSettings, TrainingSettings

MODEL = ModelSettings(
    encoder_layers=2, decoder_layers=2, heads=2, width=16, feed_forward=16, dropout=0.0, attention_dropout=0.0
)
DROPPING = MODEL.model_copy(update={"dropout": 0.2, "attention_dropout": 0.1})
TRAINING = TrainingSettings(
    max_tokens=40, update_frequency=4, learning_rate=0.01, warmup_updates=5, clip_norm=1.0, weight_decay=0.01
)
NOISY = SposArm(beta=100.0)
"""With noise about as large as the gradients."""


def run(
    data: Path,
    work: Path,
    *,
    arm: Arm,
    model: ModelSettings = MODEL,
    epochs: int = 2,
    seed: int = 1,
    notify: Callable[[Any], None] = lambda _: None,
    profile: str = "",
) -> None:
    """Train one model, as one of so many processes as there are."""
    arguments = fairseq_arguments(
        data=data,
        model=model,
        training=TRAINING,
        seed=1,
        device="cpu",
        arm=arm_arguments(arm, seed),
        processes=process_count(),
    )
    training.train(arguments=arguments, epochs=epochs, work=work, notify=notify, profile=profile)


def train_all(
    notify: Callable[[Any], None], *, data: Path, place: Path, arms: Mapping[str, Arm], profile: str = ""
) -> None:
    """Train under every arm."""
    if this_process() > 0:
        forbid_writing()
    for name, arm in arms.items():
        run(data, place / name, arm=arm, notify=notify, profile=profile)


def train_and_stop(notify: Callable[[Any], None], *, data: Path, place: Path, arms: Mapping[str, Arm]) -> None:
    """Train under every arm, then with dropout in one go and in two, and last so that replicas differ."""
    train_all(notify, data=data, place=place, arms=arms)
    run(data, place / "whole", arm=NOISY, model=DROPPING)
    run(data, place / "cut", arm=NOISY, model=DROPPING, epochs=1)
    run(data, place / "cut", arm=NOISY, model=DROPPING)
    with pytest.raises(HeadroomError, match="no longer have the same weights"):
        run(data, place / "apart", arm=NOISY, seed=1 + this_process())


def forbid_writing() -> None:
    """Let every attempt to write a file in this process fail."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a process that is not the first one writes")

    for module in (training, checkpoint):
        module.atomic_path = refuse  # type: ignore[attr-defined]
    training.write_record = refuse
    training.Trainer.save_checkpoint = refuse
