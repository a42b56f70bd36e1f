"""A small run of a task's model on artificial text, trained for some seconds, for the measurements."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from headroom.core.files import write_lines
from headroom.data.parallel import SIDES
from headroom.engines.engine import Engine, engine_for
from headroom.job_settings import JobSettings, as_json
from headroom.plan import Plan
from headroom.settings.models import ModelSettings, TrainingSettings
from headroom.settings.parallel import VocabularySettings

UPDATES = 60
"""Updates after which a model of the starter's size has learned the artificial language."""

MOST_OPERATIONS = 4e11
"""Floating-point operations of the sample's training, about 20 s on a core: large models have fewer updates."""

EXAMPLES = {"choose": 64, "check": 64, "test": 128, "start": 2}
"""Examples of the sample's evaluation sets; `start` is for the start of a process."""


@dataclass(frozen=True)
class Sample:
    """A trained sample.

    Attributes:
        engine: The engine with its data and the settings of the study.
        flags: The command line of a stage that loads it.
        checkpoint: The trained checkpoint.
        update_seconds: Seconds of an example in training, from the training of the sample itself.
    """

    engine: Engine
    flags: tuple[str, ...]
    checkpoint: str
    update_seconds: float


Clock = Callable[[], float]


def write_parallel(place: Path, vocabulary: VocabularySettings, pieces: float, train: int) -> None:
    """Write artificial parallel text, and its vocabulary and binarised form, into `corpus` and `binarised`.

    A source sentence repeats a word, which determines the target: the words of a fixed sequence from that word to its
    end. A model learns this within seconds, so that translations end where they should, and most of them do not depend
    on a single head. Sentences have `pieces` / 2 to 3 / 2 `pieces` pieces, a word each. The dictionary is filled up to
    the size of the study's vocabulary.
    """
    from headroom.data.pieces import Pieces, train_pieces

    draw = random.Random(1)
    longest = max(3, round(1.5 * pieces))
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(longest)]
    texts: dict[str, tuple[list[str], list[str]]] = {}
    for name, count in {"train": train, **EXAMPLES}.items():
        lengths = [draw.randint(max(1, round(pieces / 2)), longest) for _ in range(count)]
        sources = [" ".join([words[-length]] * length) for length in lengths]
        texts[name] = sources, [" ".join(words[-length:]) for length in lengths]
        for side, lines in zip(SIDES, texts[name]):
            write_lines(place / "corpus" / f"{name}.{side}", lines)
    binarised = place / "binarised"
    binarised.mkdir()
    small = vocabulary.model_copy(update={"size": 40 + 5 * longest, "model_type": "bpe"})
    train_pieces([line for lines in texts["train"] for line in lines], binarised / "sentencepiece.model", small)
    learned = Pieces(binarised / "sentencepiece.model")
    dictionary = _dictionary(map(learned.encode, words), vocabulary.size)
    for side in SIDES:
        dictionary.save(str(binarised / f"dict.{side}.txt"))
    for split, name in (("train", "train"), ("valid", "choose")):
        for side, lines in zip(SIDES, texts[name]):
            _binarise(binarised / f"{split}.source-target.{side}", map(learned.encode, lines), dictionary)


def _dictionary(words: Iterable[Sequence[str]], size: int) -> Any:
    """Return fairseq's dictionary of the pieces of words, filled up to a size."""
    from headroom.engines.translation.fairseq import Dictionary

    dictionary = Dictionary()
    for piece in chain.from_iterable(words):
        dictionary.add_symbol(piece)
    for number in range(len(dictionary), size):
        dictionary.add_symbol(f"unused{number}", n=0)
    return dictionary


def _binarise(prefix: Path, sentences: Iterable[Sequence[str]], dictionary: Any) -> None:
    from fairseq.data import indexed_dataset

    builder = indexed_dataset.make_builder(f"{prefix}.bin", impl="mmap", vocab_size=len(dictionary))
    for sentence in sentences:
        builder.add_item(dictionary.encode_line(" ".join(sentence), add_if_not_exist=False))
    builder.finalize(f"{prefix}.idx")


def translation_sample(plan: Plan, run: str, place: Path, pieces: float, clock: Clock) -> Sample:
    """Train a sample of the translation model."""
    from headroom.methods.translation_arms import training

    task: Any = plan.task(run)
    shape: ModelSettings = task.model
    parameters = task.vocabulary.size * shape.width + (shape.encoder_layers + 2 * shape.decoder_layers) * (
        4 * shape.width**2 + 2 * shape.width * shape.feed_forward
    )
    batch = min(task.training.max_tokens, 768)
    tokens = min(UPDATES * batch, MOST_OPERATIONS / (6 * parameters))
    write_parallel(place, task.vocabulary, pieces, max(200, round(tokens / (pieces + 1))))
    rate = 0.006 * (64 / shape.width) ** 0.5
    fast = {"epochs": 1, "warmup_updates": 10, "learning_rate": rate, "max_tokens": batch, "update_frequency": 1}
    settings: TrainingSettings = task.training.model_copy(update={**fast, "label_smoothing": 0.0})
    arm = next(iter(task.arms.values()))
    found = training(
        data=place / "binarised", model=shape, training=settings, arm=arm, seed=1, device=plan.study.device
    )
    seconds = _trained(found, place, clock)
    flags = ("--corpus", str(place / "corpus"), "--vocabulary", str(place / "binarised"))
    return _sample(plan, run, flags, place / "work" / "epoch1.pt", seconds / batch * (pieces + 1))


def classification_sample(plan: Plan, run: str, place: Path, clock: Clock) -> Sample:
    """Train a sample of a task's classifier, on generated pairs."""
    from headroom.methods.classification_arms import training
    from headroom.stages import acquire, encoder

    task: Any = plan.task(run)
    batch = task.training.batch_size
    sizes = {"train": 12 * batch, "valid": EXAMPLES["choose"] + EXAMPLES["check"], "test": EXAMPLES["test"]}
    corpus, start = place / "corpus", place / "encoder"
    given = [text for name, size in {**sizes, "far": 8}.items() for text in (f"--{name}", str(size))]
    acquire.main(["--kind", "labelled", "--output", str(corpus), *given])
    write_lines(corpus / "start.tsv", (corpus / "test.tsv").read_text("utf-8").splitlines()[:3])
    encoder.main(["--corpus", str(corpus), "--output", str(start), "--settings", as_json(encoder=task.encoder)])
    settings = task.training.model_copy(update={"epochs": 1})
    arm = next(iter(task.arms.values()))
    found = training(corpus=corpus, encoder=start, training=settings, arm=arm, seed=1, device=plan.study.device)
    seconds = _trained(found, place, clock)
    return _sample(plan, run, ("--corpus", str(corpus)), place / "work" / "epoch1", seconds / batch)


def _trained(training: Any, place: Path, clock: Clock) -> float:
    """Train an epoch and return the median of the seconds of an update, the first ones excluded."""
    import statistics

    times: list[float] = []
    training.train(epochs=1, work=place / "work", notify=lambda _: times.append(clock()))
    steps = [later - earlier for earlier, later in pairwise(times)]
    return statistics.median(steps[len(steps) // 3 :] or [0.0])


def _sample(plan: Plan, run: str, data: Sequence[str], checkpoint: Path, seconds: float) -> Sample:
    from headroom.stages import evaluation

    kind = plan.kind(run)
    settings = json.loads(JobSettings(plan).evaluation(run))
    if "decoding" in settings:  # the length of the artificial translations is that of their sources
        settings["decoding"] |= {"length_factor": 1.0, "length_offset": 1}
    flags = ["--task", kind, "--checkpoint", str(checkpoint), "--device", plan.study.device, *data]
    flags += ["--settings", json.dumps(settings)]
    engine = engine_for(kind)
    given: argparse.Namespace = evaluation.build_parser(engine).parse_args([*flags, "--output", "-"])
    return Sample(engine(given), tuple(flags), str(checkpoint), seconds)
