"""Fine-tunings of tiny classifiers, by one process or by several, each of which imports this."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.engines.classification import records, training
from headroom.engines.processes import process_count, this_process
from headroom.methods.classification_arms import changes_of
from headroom.settings.arms import Arm, SposArm
from headroom.settings.models import FineTuningSettings
from toy_fine_tuning import examples
from transformers import TrainerCallback

SETTINGS = FineTuningSettings(epochs=2, learning_rate=0.003, batch_size=8, max_length=12, clip_norm=0.5)
TRAIN, VALID = examples(43, 0), examples(21, 1)
"""Of the last batch, three examples, the first process has two."""
NOISY = SposArm(beta=100.0)
"""With noise about as large as the gradients."""


class StoppedError(Exception):
    """Stands for a kill of all processes at once."""


class Stop(TrainerCallback):  # type: ignore[misc]
    """Stops every process in the middle of the second epoch."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Stop before the tenth update."""
        if state.global_step == 9:
            raise StoppedError


def run(
    encoder: Path,
    work: Path,
    *,
    arm: Arm,
    train: LabelledText = TRAIN,
    seed: int = 1,
    notify: Callable[[Any], None] = lambda _: None,
    callbacks: tuple[TrainerCallback, ...] = (),
) -> None:
    """Train one classifier, as one of so many processes as there are."""
    training.fine_tune(
        task=training.Task(encoder, train, VALID),
        settings=SETTINGS,
        seed=1,
        device="cpu",
        work=work,
        notify=notify,
        changes=changes_of(arm, seed),
        callbacks=callbacks,
    )


def train_all(
    notify: Callable[[Any], None], *, encoder: Path, place: Path, arms: Mapping[str, Arm], train: LabelledText = TRAIN
) -> None:
    """Train under every arm."""
    if this_process() > 0:
        forbid_writing()
    for name, arm in arms.items():
        run(encoder, place / name, arm=arm, notify=notify, train=train)


def train_and_stop(
    notify: Callable[[Any], None], *, encoder: Path, dropping: Path, place: Path, arms: Mapping[str, Arm]
) -> None:
    """Train under every arm, then with dropout in one go and in two, and last so that replicas differ."""
    train_all(notify, encoder=encoder, place=place, arms=arms)
    run(dropping, place / "whole", arm=NOISY)
    with pytest.raises(StoppedError):
        run(dropping, place / "cut", arm=NOISY, callbacks=(Stop(),))
    run(dropping, place / "cut", arm=NOISY)
    with pytest.raises(HeadroomError, match="no longer have the same weights"):
        run(encoder, place / "apart", arm=NOISY, seed=1 + this_process())


def forbid_writing() -> None:
    """Let attempts to write models, records and marks fail in this process; its generators' state is its own."""
    assert process_count() > 1

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a process that is not the first one writes")

    for name in ("keep_model", "mark_whole", "write_record"):
        setattr(records, name, refuse)
    training.discard_after = refuse
