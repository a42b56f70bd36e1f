"""Fine-tuned classifiers, imported as a run of one epoch."""

import re
from collections.abc import Sequence
from pathlib import Path

from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled_record
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.released import import_model
from headroom.engines.hub.sites import with_labels
from headroom.settings.models import HubModelSettings

_UNNAMED = re.compile(r"LABEL_[0-9]+")
"""transformers' default names of labels."""


def take(settings: HubModelSettings, *, checkpoint: Path, corpus: Path) -> str:
    """Load a classifier, which checks its gates, name its labels, write it, and return a description.

    Raises:
        HeadroomError: If it is missing, unsupported, or its labels are not those of the corpus.
    """
    labels = read_labelled_record(corpus)["labels"]
    about = import_model(ClassificationModel, settings, checkpoint, adapt=lambda own: name_labels(own, labels))
    return f"{about}; labels {', '.join(labels)}"


def name_labels(classifier: ClassificationModel, labels: Sequence[str]) -> None:
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
            f"released: the classifier has the labels {', '.join(known)}, the corpus {', '.join(labels)}; "
            "use the classifier's names in corpus.labels and the files"
        )
