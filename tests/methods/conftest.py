"""Models of both engines in float64 with examples of different lengths, and tiny ones in training."""

from collections.abc import Callable
from pathlib import Path

import pytest
from headroom.models.classifier.model import ClassificationModel
from headroom.models.seq2seq.model import Seq2SeqModel
from models import toy_text, write_encoder, write_self_attentive
from oracles import Case


@pytest.fixture(scope="session")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories of toy classifiers; read-only."""
    place = tmp_path_factory.mktemp("classifiers")
    return {"bert": write_encoder(place / "bert"), "hops": write_self_attentive(place / "hops")}


@pytest.fixture
def classifier(classifiers: dict[str, Path]) -> ClassificationModel:
    """A random BERT of 2 layers and 4 heads each in float64, which shows its attention weights."""
    loaded = ClassificationModel.load(classifiers["bert"], "cpu", "eager")
    loaded.model.double()
    return loaded


@pytest.fixture
def of(classifiers: dict[str, Path], request: pytest.FixtureRequest) -> Callable[[str], Case]:
    """Return a fresh case: `bert` and `hops` classify 70 pairs of sentences, `translator` translates 12 sentences."""

    def case(name: str) -> Case:
        if name == "translator":
            translator: Seq2SeqModel = request.getfixturevalue("exact")
            sources, targets = request.getfixturevalue("texts")
            pairs = list(zip(sources, targets))
            singles = [translator.batches([source], [target], sentences=1)[0] for source, target in pairs]
            return Case(translator, lambda size: translator.batches(sources, targets, sentences=size), singles)
        classifier = ClassificationModel.load(classifiers[name], "cpu", "eager")
        classifier.model.double()
        text = toy_text(examples=70)
        singles = [classifier.batches(text.taken([place]), examples=1)[0] for place in range(len(text))]
        return Case(classifier, lambda size: classifier.batches(text, examples=size), singles)

    return case


@pytest.fixture(params=["bert", "translator", "hops"])
def case(request: pytest.FixtureRequest, of: Callable[[str], Case]) -> Case:
    return of(request.param)
