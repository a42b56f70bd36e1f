"""A corpus that a tiny classifier learns in seconds: liking or hating, expressed by the verb only."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.engines.hub.classifier.encoder import StartingPoint, new_encoder, write_encoder
from headroom.engines.training import EpochRecord, Progress, read_records
from headroom.settings.arms import Arm, BaselineArm
from headroom.settings.models import FineTuningSettings, NewEncoder

if TYPE_CHECKING:
    from headroom.engines.hub.classifier.trainer import Task
    from transformers import Trainer, TrainerCallback

LABELS = ["neutral", "bad", "good"]
SHAPE = {"layers": 2, "heads": 2, "width": 16, "feed_forward": 32, "vocabulary": 120}
_VERBS = {"good": ["likes", "loves"], "bad": ["hates", "dreads"], "neutral": ["sees", "meets"]}
_NOUNS = ["dog", "cat", "bird", "horse"]


def examples(count: int, seed: int, *, pairs: bool = False) -> LabelledText:
    """Return sentences, or pairs, of different lengths."""
    draw = random.Random(seed)
    labels = [draw.choice(LABELS) for _ in range(count)]
    first = [_sentence(draw, draw.choice(_VERBS[label])) for label in labels]
    return LabelledText(first, [_sentence(draw, "sees") for _ in labels] if pairs else None, labels)


def write_corpus(directory: Path, *, pairs: bool = False, train: int = 60) -> Path:
    """Write a labelled corpus and return its directory."""
    sizes = {"train": train, "choose": 11, "check": 10, "test": 8}
    sets = {name: examples(size, seed, pairs=pairs) for seed, (name, size) in enumerate(sizes.items())}
    write_labelled_corpus(directory, sets, labels=LABELS, metrics=["accuracy"], origin={})
    return directory


def toy_encoder(**changes: object) -> StartingPoint:
    """Return a new encoder for the corpus."""
    settings = NewEncoder.model_validate({**SHAPE, **changes})
    return new_encoder(settings, examples(60, 0).first, LABELS)


def write_toy_encoder(directory: Path) -> Path:
    """Write a new encoder for the corpus and return its directory."""
    write_encoder(toy_encoder(), directory)
    return directory


def fine_tune(
    task: "Task",
    settings: FineTuningSettings,
    work: Path,
    *,
    arm: Arm | None = None,
    seed: int = 1,
    arm_seed: int = 1,
    until: int | None = None,
    notify: Callable[[Progress], None] = lambda _: None,
    callbacks: Sequence["TrainerCallback"] = (),
) -> list[EpochRecord]:
    """Train on examples that are in no file, with further callbacks of the Trainer."""
    from headroom.engines.hub.classifier import arms, training

    def build(*given: object) -> "Trainer":
        trainer = build_trainer(*given)
        for callback in callbacks:
            trainer.add_callback(callback)
        return trainer

    build_trainer, epochs = training.build_trainer, min(until or settings.epochs, settings.epochs)
    tuning = training.FineTuning(
        corpus=Path(),
        encoder=task.encoder,
        training=settings,
        arm=arm or BaselineArm(),
        changes_of=lambda arm, _: arms.build_hooks(arm, arm_seed),
        seed=seed,
        device="cpu",
    )
    vars(tuning)["task"] = task
    with patch.object(training, "build_trainer", build):
        tuning.train(epochs=epochs, work=work, notify=notify)
    return read_records(work, epochs)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Return whether two models have the same names and the same bits."""
    assert list(one) == list(other)
    return all(torch.equal(one[name], other[name]) for name in one)


def _sentence(draw: random.Random, verb: str) -> str:
    return " ".join(["the", draw.choice(_NOUNS), verb, "the", draw.choice(_NOUNS), *["today"] * draw.randint(0, 5)])
