"""A classifier in float64, and tiny models of both engines in training."""

from pathlib import Path

import pytest
from headroom.engines.hub.classifier.model import ClassificationModel
from models import write_encoder
from toy_sites import Engine, of_fairseq, of_transformers


@pytest.fixture
def classifier(tmp_path: Path) -> ClassificationModel:
    """A random BERT of 2 layers and 4 heads each, which shows its attention weights."""
    loaded = ClassificationModel.load(write_encoder(tmp_path / "model"), "cpu", "eager")
    loaded.model.double()
    return loaded


@pytest.fixture(params=[of_fairseq, of_transformers], ids=["fairseq", "transformers"])
def engine(request: pytest.FixtureRequest, data: Path) -> Engine:
    return request.param(data)
