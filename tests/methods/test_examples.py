"""The examples in docstrings of criteria, on a random BERT of 2 layers and 4 heads each."""

import doctest
import importlib
import pkgutil

from headroom.methods import criteria
from headroom.models.classifier.model import ClassificationModel
from models import toy_text

MODULES = [criteria.__name__, *(f"{criteria.__name__}.{one.name}" for one in pkgutil.iter_modules(criteria.__path__))]


def test_are_as_they_say(classifier: ClassificationModel) -> None:
    batches = classifier.batches(toy_text(examples=24), examples=8)
    found = [
        doctest.testmod(importlib.import_module(name), extraglobs={"model": classifier, "batches": batches})
        for name in MODULES
    ]
    assert sum(one.attempted for one in found) >= 20
    assert not any(one.failed for one in found)
