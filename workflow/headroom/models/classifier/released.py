"""Fine-tuned classifiers, imported as a run of one epoch."""

from collections.abc import Sequence
from pathlib import Path

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import numpy
import torch

from headroom.core.errors import HeadroomError
from headroom.core.order_checks import find_wrong_order
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import with_labels
from headroom.models.released import import_model
from headroom.models.weight_files import are_unnamed
from headroom.settings.models import HubModelSettings

_ASKED, _EXAMPLES, _AT_ONCE = "choose", 300, 32
"""The set on which labels are checked, how many of its examples, and the size of batches."""


def take(settings: HubModelSettings, *, checkpoint: Path, corpus: Path) -> str:
    """Load a classifier, which checks its gates, name its labels, write it, and return a description.

    Raises:
        HeadroomError: If it is missing, unsupported, or its labels are not those of the corpus.
    """
    labels = read_labelled_record(corpus)["labels"]

    def adapt(classifier: ClassificationModel) -> None:
        place = "corpus.labels" if name_labels(classifier, labels) else "id2label in the classifier's config.json"
        if not settings.below_chance:
            check_order(classifier, read_labelled(corpus / f"{_ASKED}.tsv", labels), place)

    about = import_model(ClassificationModel, settings, checkpoint, adapt=adapt)
    return f"{about}; labels {', '.join(labels)}"


@torch.no_grad()
def check_order(classifier: ClassificationModel, text: LabelledText, place: str) -> None:
    """Check on some examples that a classifier is not worse than chance, or better with its labels in another order.

    Args:
        classifier: The classifier, with the names of its labels.
        text: Examples.
        place: What names the labels, for the message.

    Raises:
        HeadroomError: If it is; names the accuracy, and the order that would be better.
    """
    some = text.taken(range(0, len(text), max(1, len(text) // _EXAMPLES)))
    gold, predicted = numpy.zeros((2, len(some)), dtype=numpy.int64)
    for batch in classifier.batches(some, examples=_AT_ONCE):
        gold[batch.positions] = batch.labels.cpu().numpy()
        predicted[batch.positions] = classifier.logits(batch).argmax(-1).cpu().numpy()
    if found := find_wrong_order(gold, predicted, len(classifier.labels)):
        raise HeadroomError(
            f"released: on {_ASKED} {found.describe(classifier.labels)};\n"
            f"correct {place}, or set released.below_chance: true if the order is right"
        )


def name_labels(classifier: ClassificationModel, labels: Sequence[str]) -> bool:
    """Name a classifier's outputs by the labels of a corpus if they are unnamed; else check that they are equal.

    Returns:
        Whether they were unnamed.

    Raises:
        HeadroomError: If the classifier has other labels than the corpus.
    """
    try:
        unnamed = are_unnamed(classifier.labels, labels)
    except HeadroomError as error:
        raise HeadroomError(f"released: {error}") from None
    if unnamed:
        classifier.labels = list(labels)
        with_labels(classifier.model.config, labels)
    return unnamed
