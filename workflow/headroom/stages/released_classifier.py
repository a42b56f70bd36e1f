"""Take a classifier that is fine-tuned already, check it against labelled text, and write a run of it."""

import argparse
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled_record
from headroom.engines.classification.model import ClassificationModel
from headroom.engines.classification.sources import locate
from headroom.settings.encoder import DirectoryEncoder, HubEncoder
from headroom.settings.models import ReleasedClassifier

_UNNAMED = re.compile(r"LABEL_[0-9]+")
"""What transformers calls labels that nobody named."""

_log = logging.getLogger("headroom.stages.released_classifier")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("released_classifier", __doc__ or "")
    parser.add_argument("--corpus", type=Path, required=True, help="directory of the labelled corpus")
    parser.add_argument("--checkpoint", type=Path, required=True, help="where the classifier goes, e.g. epoch1")
    add_settings(parser, released=ReleasedClassifier)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Load the classifier, which checks that its heads can be gated, name its labels and write it."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "released", ReleasedClassifier)
    labels = read_labelled_record(given.corpus)["labels"]
    directory = locate(
        DirectoryEncoder(path=settings.path)
        if settings.path
        else HubEncoder(name=str(settings.name), revision=settings.revision),
        "released",
    )
    classifier = ClassificationModel.load(directory, "cpu")
    name_labels(classifier, labels, directory)
    classifier.save(given.checkpoint)
    heads = sum(len(live.kept) for live in classifier.live_sites)
    _log.info("wrote %s: %d heads, labels %s", given.checkpoint, heads, ", ".join(classifier.labels))


def name_labels(classifier: ClassificationModel, labels: Sequence[str], directory: Path) -> None:
    """Give a classifier's outputs the labels of a corpus if they have no names; else check that they are the same.

    Raises:
        HeadroomError: If the classifier knows other labels than the corpus.
    """
    known = classifier.labels
    if len(known) == len(labels) and all(map(_UNNAMED.fullmatch, known)):
        classifier.labels = list(labels)
        config: Any = classifier.model.config
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: index for index, label in enumerate(labels)}
    elif set(known) != set(labels):
        raise HeadroomError(
            f"the classifier in {directory} has the labels {', '.join(known)}, the corpus {', '.join(labels)}; "
            "write the same names into corpus.labels and the files"
        )


if __name__ == "__main__":
    run(main)
