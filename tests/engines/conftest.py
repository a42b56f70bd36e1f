"""Tiny classifiers of every supported family, written once; a tiny encoder, trained once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from headroom.data.labelled import LabelledText
from headroom.models.classifier.model import ClassificationModel
from headroom.training.resumable import EpochRecord
from models import copied, toy_text, write_encoder
from trainings import Classification, Kind, Translation, write_toy_encoder

Load = Callable[..., ClassificationModel]
WholeRun = tuple[Path, list[EpochRecord]]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the directory of a family's toy classifier; read-only."""
    return cache(lambda family: write_encoder(tmp_path_factory.mktemp("encoders") / family, family))


@pytest.fixture(scope="session")
def load(written: Callable[[str], Path]) -> Load:
    """Return a fresh model of a family, by default a BERT: a copy of what was loaded once."""
    loaded = cache(lambda family, attention: ClassificationModel.load(written(family), "cpu", attention))
    return lambda family="bert", attention="sdpa": copied(loaded(family, attention))


@pytest.fixture(scope="session")
def pairs() -> LabelledText:
    """Twelve pairs of sentences of different lengths."""
    return toy_text(pairs=True)


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new encoder for the corpus of `trainings`."""
    return write_toy_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def classification(untrained: Path) -> Classification:
    return Classification(untrained)


@pytest.fixture(scope="session")
def translation(data: Path) -> Translation:
    return Translation(data)


def run_whole(kind: Kind, work: Path) -> WholeRun:
    """Train uninterrupted; the result is read-only."""
    return work, kind.run(work)


@pytest.fixture(scope="session")
def whole_classification(classification: Classification, tmp_path_factory: pytest.TempPathFactory) -> WholeRun:
    return run_whole(classification, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def whole_translation(translation: Translation, tmp_path_factory: pytest.TempPathFactory) -> WholeRun:
    return run_whole(translation, tmp_path_factory.mktemp("whole"))
