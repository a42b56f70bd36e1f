"""A corpus that a tiny classifier learns in seconds: liking or hating, expressed by the verb only."""

import random
from pathlib import Path

import torch
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.engines.hub.classifier.encoder import StartingPoint, new_encoder, write_encoder
from headroom.settings.models import NewEncoder

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


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Return whether two models have the same names and the same bits."""
    assert list(one) == list(other)
    return all(torch.equal(one[name], other[name]) for name in one)


def _sentence(draw: random.Random, verb: str) -> str:
    return " ".join(["the", draw.choice(_NOUNS), verb, "the", draw.choice(_NOUNS), *["today"] * draw.randint(0, 5)])
