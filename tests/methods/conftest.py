"""A classifier in float64, for the tests of methods."""

from pathlib import Path

import pytest
from headroom.engines.classification.model import ClassificationModel
from toy_encoder import write_encoder


@pytest.fixture
def classifier(tmp_path: Path) -> ClassificationModel:
    """A random BERT of 2 layers and 4 heads each, which shows its attention weights."""
    loaded = ClassificationModel.load(write_encoder(tmp_path / "model"), "cpu", "eager")
    loaded.model.double()
    return loaded
