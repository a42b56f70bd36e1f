"""Trainings of tiny models of both libraries, and what they are trained on; parallel processes import this module."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.settings import models as settings_of
from headroom.settings.arms import Arm, BaselineArm, SposArm
from headroom.settings.models import FineTuningSettings, TrainingSettings
from headroom.training.processes import check_replicas, process_count, sum_over_processes, this_process, wait_for_all
from headroom.training.resumable import EpochRecord, Progress, read_records
from safetensors.torch import load_file

Notify = Callable[[Any], None]
State = dict[str, torch.Tensor]

# A corpus that a tiny classifier learns in seconds: liking or hating, expressed by the verb only.
LABELS = ["neutral", "bad", "good"]
SHAPE = {"layers": 2, "heads": 2, "width": 16, "feed_forward": 32, "vocabulary": 120}
SELF_ATTENTIVE = {"embedding": 8, "hidden": 4, "attention": 6, "hops": 3, "fully_connected": 8, "vocabulary": 120}
_VERBS = {"good": ["likes", "loves"], "bad": ["hates", "dreads"], "neutral": ["sees", "meets"]}
_NOUNS = ["dog", "cat", "bird", "horse"]


def examples(count: int, seed: int, *, pairs: bool = False) -> LabelledText:
    """Return sentences, or pairs, of different lengths."""
    draw = random.Random(seed)
    labels = [draw.choice(LABELS) for _ in range(count)]

    def sentence(verb: str) -> str:
        words = ["the", draw.choice(_NOUNS), verb, "the", draw.choice(_NOUNS), *["today"] * draw.randint(0, 5)]
        return " ".join(words)

    first = [sentence(draw.choice(_VERBS[label])) for label in labels]
    return LabelledText(first, [sentence("sees") for _ in labels] if pairs else None, labels)


def write_corpus(directory: Path, *, pairs: bool = False, train: int = 60) -> Path:
    """Write a labelled corpus and return its directory."""
    sizes = {"train": train, "choose": 11, "check": 10, "test": 8}
    sets = {name: examples(size, seed, pairs=pairs) for seed, (name, size) in enumerate(sizes.items())}
    write_labelled_corpus(directory, sets, labels=LABELS, metrics=["accuracy"], origin={})
    return directory


def toy_encoder(**changes: object) -> Any:
    """Return a new encoder for the corpus."""
    from headroom.training.classifier.encoder import new_encoder

    return new_encoder(settings_of.NewEncoder.model_validate({**SHAPE, **changes}), examples(60, 0).first, LABELS)


def write_toy_encoder(directory: Path, **changes: object) -> Path:
    """Write a new encoder for the corpus and return its directory."""
    from headroom.training.classifier.encoder import write_encoder

    write_encoder(toy_encoder(**changes), directory)
    return directory


def write_self_attentive_start(directory: Path, **changes: object) -> Path:
    """Write a new self-attentive encoder for the corpus and return its directory."""
    from headroom.training.classifier.encoder import self_attentive_start, write_encoder

    settings = settings_of.SelfAttentiveEncoder.model_validate({**SELF_ATTENTIVE, **changes})
    write_encoder(self_attentive_start(settings, examples(60, 0).first, LABELS), directory)
    return directory


TRAIN, VALID = examples(60, 0), examples(21, 1)
UPDATES = 8
"""Updates of an epoch on these: 7 full batches of 8 and one of 4. Translations have as many or more."""
TRANSLATING = TrainingSettings(max_tokens=80, learning_rate=0.01, warmup_updates=5, epochs=3)
TUNING = FineTuningSettings(epochs=3, learning_rate=0.01, batch_size=8, max_length=12, warmup_share=0.2)
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def ignore(_: Any) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Kind:
    """What is trained, and by which settings: a translation model, or a classifier. It can be pickled."""

    place: Path
    """The data of `fairseq_models.write_data`, or an encoder."""

    def run(
        self, work: Path, *, until: int | None = None, notify: Notify = ignore, **changes: Any
    ) -> list[EpochRecord]:
        """Train, as one of so many processes as there are, and return the records of all epochs."""
        work.mkdir(parents=True, exist_ok=True)
        training = self.training(processes=process_count(), **changes)
        epochs = until or training.epochs
        training.train(epochs=epochs, work=work, notify=notify)
        return read_records(work, epochs)

    def same_models(self, one: Path, other: Path, epochs: Sequence[float] = (1, 2, 3)) -> bool:
        """Return whether two runs have the same bits after every epoch, or share of the first one."""
        return all(same(self.weights(one, epoch), self.weights(other, epoch)) for epoch in epochs)


@dataclass(frozen=True)
class Translation(Kind):
    """A translation model of fairseq."""

    settings: TrainingSettings = TRANSLATING
    dropout: float = 0.2
    removed: str = ""

    def training(self, *, arm=None, seed=1, arm_seed=1, processes=1, **changes):
        from headroom.training.fairseq.arms import arm_arguments
        from headroom.training.fairseq.training import TranslationTraining

        drop = {"dropout": self.dropout, "attention_dropout": self.dropout / 2}
        return TranslationTraining(
            data=self.place,
            model=settings_of.ModelSettings(
                encoder_layers=2, decoder_layers=2, heads=2, width=16, feed_forward=16, **drop
            ),
            training=TrainingSettings(**{**self.settings.model_dump(), **changes}),
            arm=arm or BaselineArm(),
            arm_arguments=lambda arm, _: arm_arguments(arm, arm_seed),
            seed=seed,
            device="cpu",
            processes=processes,
            removed=self.removed,
        )

    def weights(self, work: Path, epoch: float) -> State:
        from headroom.training.fairseq.checkpoint import load_state

        return load_state(work / f"epoch{epoch}.pt")["model"]

    def last_whole(self, work: Path, early: Sequence[float] = ()) -> int:
        from headroom.training.fairseq.training import last_whole_epoch

        return last_whole_epoch(work, early)

    def files(self, epoch: int) -> list[str]:
        """Return the names of the files, or directories, that take their places at the end of an epoch, in order."""
        return [f"epoch{epoch}.json", f"epoch{epoch}.pt", f"state{epoch}.pt"]

    def state(self, epoch: int) -> list[str]:
        return [f"state{epoch}.pt"]


@dataclass(frozen=True)
class Classification(Kind):
    """A classifier of transformers, trained on examples that are in no file."""

    settings: FineTuningSettings = TUNING
    train: LabelledText = TRAIN
    valid: LabelledText = VALID

    def training(self, *, arm=None, seed=1, arm_seed=1, processes=1, **changes):
        from headroom.training.classifier.trainer import Task
        from headroom.training.classifier.training import FineTuning, build_hooks

        tuning = FineTuning(
            corpus=Path(),
            encoder=self.place,
            training=self.settings.model_copy(update=changes),
            arm=arm or BaselineArm(),
            changes_of=lambda arm, _: build_hooks(arm, arm_seed),
            seed=seed,
            device="cpu",
            processes=processes,
        )
        vars(tuning)["task"] = Task(self.place, self.train, self.valid)
        return tuning

    def weights(self, work: Path, epoch: float) -> State:
        return load_file(work / f"epoch{epoch}" / "model.safetensors")

    def last_whole(self, work: Path, early: Sequence[float] = ()) -> int:
        from headroom.training.classifier.records import last_whole_epoch

        return last_whole_epoch(work, early)[0]

    def files(self, epoch: int) -> list[str]:
        return [f"epoch{epoch}.json", f"epoch{epoch}", "complete.json"]

    def state(self, epoch: int) -> list[str]:
        names = ("optimizer.pt", "model.safetensors", "rng_state.pth", "complete.json")
        return [f"states/checkpoint-{epoch * UPDATES}/{name}" for name in names]


def same(one: State, other: State) -> bool:
    """Return whether two models have the same names and the same bits."""
    assert list(one) == list(other)
    return all(torch.equal(one[name], other[name]) for name in one)


def kept(found: list[EpochRecord]) -> list[dict[str, Any]]:
    """Return records without what a clock has measured."""
    clocked = {"seconds": 0.0, "words_per_second": None, "examples_per_second": None}
    return [asdict(replace(record, **clocked)) for record in found]


class KilledError(Exception):
    """Stands for a kill: training ends without another line being run."""


def killed_at(epoch: int, update: int) -> Notify:
    """Return a callback that kills a run after an update."""

    def notify(progress: Progress) -> None:
        if (progress.epoch, progress.update) == (epoch, update):
            raise KilledError

    return notify


def kill_as_they_write(kind: Kind, work: Path, names: Sequence[str]) -> None:
    """Train, once for each name in a process of its own, until the system kills it as a file takes its place.

    This process must have computed nothing: torch could not compute in what it forks.
    """
    kind.training()  # imports the library
    for name in names:
        process = multiprocessing.get_context("fork").Process(target=_train_until, args=(kind, work, name))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL, name


def _train_until(kind: Kind, work: Path, name: str) -> None:
    def killed(really: Callable[..., None], source: Any, target: Any) -> None:
        if Path(target).name == name:
            if Path(source).is_file():
                os.truncate(source, Path(source).stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        really(source, target)

    torch.set_num_threads(1)
    os.replace, os.rename = partial(killed, os.replace), partial(killed, os.rename)
    kind.run(work, until=2)


# What parallel processes do.


def note(reported: Any, *, place: Path) -> None:
    """Add what is reported to a file."""
    with open(place / "reported", "a") as stream:
        stream.write(json.dumps(asdict(reported) if is_dataclass(reported) else reported) + "\n")


NOISY = SposArm(beta=100.0)
"""With noise about as large as the gradients."""


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("a process that is not the first one writes")


def train_all(notify: Notify, *, kind: Kind, place: Path, arms: Mapping[str, Arm]) -> None:
    """Train under every arm."""
    if this_process() > 0:
        os.replace = os.rename = refuse  # by which all files come to their places
    for name, arm in arms.items():
        kind.run(place / name, arm=arm, notify=notify)


def train_and_stop(notify: Notify, *, kind: Kind, dropping: Kind, place: Path, arms: Mapping[str, Arm]) -> None:
    """Train under every arm, then with dropout in one go and in two, and last so that replicas differ."""
    train_all(notify, kind=kind, place=place, arms=arms)
    dropping.run(place / "whole", arm=NOISY)
    with pytest.raises(KilledError):
        dropping.run(place / "cut", arm=NOISY, notify=killed_at(2, 1))
    dropping.run(place / "cut", arm=NOISY)
    with pytest.raises(HeadroomError, match="their weights diverged"):
        kind.run(place / "apart", arm=NOISY, arm_seed=1 + this_process())


def agree_then_fail(report: Notify, *, place: Path) -> None:
    """Report a sum, compare weights, write a file each; then the second process fails while the first waits for it."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    one = torch.tensor(this_process() + 1)
    report((this_process(), process_count(), int(sum_over_processes(one)), int(one)))
    same_everywhere, smallest = torch.ones(3), torch.ones(3)
    check_replicas([same_everywhere, smallest])
    smallest[1] += this_process() * torch.finfo(torch.float32).eps
    with pytest.raises(HeadroomError, match="their weights diverged"):
        check_replicas([same_everywhere, smallest])
    if this_process() == 1:
        raise HeadroomError("the disk of process 2 is full")
    report("waiting")
    wait_for_all()


def end_badly(_: Notify, *, how: str) -> None:
    """End the second process while the first waits for it."""
    if this_process() == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "mistaken":
            raise ValueError("seven is not even")
        torch.empty(2**60)
    wait_for_all()


def wait_for_ever(_: Notify, *, place: Path) -> None:
    """Leave a file each, then do not end: the first waits for the second."""
    (place / f"{this_process()}.pid").write_text(str(os.getpid()))
    if this_process() == 1:
        time.sleep(600)
    wait_for_all()
