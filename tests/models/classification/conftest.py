"""Tiny classifiers of every family that can be used, written once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from headroom.data.labelled import LabelledText
from headroom.models.classification.model import ClassificationModel
from toy_encoder import toy_text, write_encoder

Load = Callable[..., ClassificationModel]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the directory of a family's toy classifier; nobody writes into it."""
    return cache(lambda family: write_encoder(tmp_path_factory.mktemp("encoders") / family, family))


@pytest.fixture(scope="session")
def load(written: Callable[[str], Path]) -> Load:
    """Return a fresh model of a family, by default a BERT."""
    return lambda family="bert", attention="sdpa": ClassificationModel.load(written(family), "cpu", attention)


@pytest.fixture(scope="session")
def pairs() -> LabelledText:
    """Twelve pairs of sentences of different lengths."""
    return toy_text(pairs=True)
