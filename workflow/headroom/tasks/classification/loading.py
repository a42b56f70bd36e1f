"""Reads BERT-like classifiers and labelled text."""

import argparse
import json
from pathlib import Path

from headroom.core.command import add_checkpoints
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.engines.classification.model import Batch, ClassificationModel

__all__ = ["LOSS", "add_model", "batches", "load_model", "read_examples", "record"]

LOSS = "cross-entropy"
"""The loss of an example: of its one label."""


def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the flags that say which trained model to look at, on which text and where to compute."""
    add_checkpoints(parser, "directory of a classifier in the Hub's format (epoch<e>/)", several=several)
    parser.add_argument("--corpus", required=True, help="directory with <set>.tsv: sentence(s) and label")


def load_model(given: argparse.Namespace, checkpoint: str) -> ClassificationModel:
    """Load a classifier."""
    return ClassificationModel.load(checkpoint, given.device)


def read_examples(given: argparse.Namespace, name: str, examples: int | None = None) -> LabelledText:
    """Read a set's examples; labels that neither the corpus nor the model declares are refused."""
    text = read_labelled(Path(given.corpus) / f"{name}.tsv", _declared(given))
    return text.taken(range(min(examples, len(text)))) if examples else text


def batches(model: ClassificationModel, examples: LabelledText, size: int) -> list[Batch]:
    """Return examples in batches of similar length."""
    return model.batches(examples, examples=size)


def record(corpus: Path) -> dict[str, list[str]] | None:
    """Return what a corpus says of its labels and metrics; None for a directory with TSV files alone."""
    return read_labelled_record(corpus) if (corpus / "corpus.json").is_file() else None


def _declared(given: argparse.Namespace) -> list[str] | None:
    """Return the labels of the corpus if it declares them, else those of the first checkpoint, if it can be read."""
    if known := record(Path(given.corpus)):
        return list(known["labels"])
    checkpoint = given.checkpoints[0] if "checkpoints" in given else given.checkpoint
    try:
        return list(json.loads(Path(checkpoint, "config.json").read_bytes())["id2label"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        return None  # loading the model says what is wrong
