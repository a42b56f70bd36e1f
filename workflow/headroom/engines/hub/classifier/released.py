"""Fine-tuned classifiers, imported as a run of one epoch."""

import re
from collections.abc import Sequence
from pathlib import Path

from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled_record
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.sites import with_labels
from headroom.engines.hub.sources import locate
from headroom.settings.models import DirectoryEncoder, HubEncoder, ReleasedClassifier

_UNNAMED = re.compile(r"LABEL_[0-9]+")
"""transformers' default names of labels."""


def take(settings: ReleasedClassifier, *, checkpoint: Path, corpus: Path) -> str:
    """Load a classifier, which checks its gates, name its labels, write it, and return a description.

    Raises:
        HeadroomError: If it is missing, unsupported, or its labels are not those of the corpus.
    """
    labels = read_labelled_record(corpus)["labels"]
    directory = locate(
        DirectoryEncoder(path=settings.path)
        if settings.path
        else HubEncoder(name=str(settings.name), revision=settings.revision),
        "released",
    )
    classifier = ClassificationModel.load(directory, "cpu")
    name_labels(classifier, labels, directory)
    classifier.save(checkpoint)
    heads = sum(len(live.kept) for live in classifier.live_sites)
    return f"{heads} heads, labels {', '.join(classifier.labels)}"


def name_labels(classifier: ClassificationModel, labels: Sequence[str], directory: Path) -> None:
    """Name a classifier's outputs by the labels of a corpus if they are unnamed; else check that they are equal.

    Raises:
        HeadroomError: If the classifier has other labels than the corpus.
    """
    known = classifier.labels
    if len(known) == len(labels) and all(map(_UNNAMED.fullmatch, known)):
        classifier.labels = list(labels)
        with_labels(classifier.model.config, labels)
    elif set(known) != set(labels):
        raise HeadroomError(
            f"{directory}: the classifier has the labels {', '.join(known)}, the corpus {', '.join(labels)}; "
            "use the classifier's names in corpus.labels and the files"
        )
