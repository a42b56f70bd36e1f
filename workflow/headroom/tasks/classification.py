"""Classification: a BERT-like encoder in the Hub's directory format, and labelled text."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.ground.command import add_checkpoints, add_settings, settings_from
from headroom.methods.encoder_workload import PARTS, workload
from headroom.methods.judging import Outcome
from headroom.methods.labelled_sets import LabelledSet
from headroom.models.classification.model import Batch, ClassificationModel
from headroom.settings.labelling import LabellingSettings
from headroom.settings.sampling import SamplingSettings

__all__ = [
    "LOSS",
    "PARTS",
    "add_judging",
    "add_model",
    "batches",
    "final",
    "load_model",
    "load_set",
    "read_examples",
    "workload",
]

LOSS = "cross-entropy"
"""The loss of an example: of its one label."""


def add_model(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the flags that say which trained model to look at, on which text and where to compute."""
    add_checkpoints(parser, "directory of a classifier in the Hub's format (epoch<e>/)", several=several)
    parser.add_argument("--corpus", required=True, help="directory with <set>.tsv: sentence(s) and label")


def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:  # noqa: ARG001
    """Add metrics and resampling."""
    add_settings(parser, LabellingSettings)
    add_settings(parser, SamplingSettings)


def load_model(given: argparse.Namespace, checkpoint: str) -> ClassificationModel:
    """Load a classifier."""
    return ClassificationModel.load(checkpoint, given.device)


def load_set(given: argparse.Namespace, name: str, *, examples: int | None = None) -> LabelledSet:
    """Read a set's examples, judged by the metrics given, or by those of the corpus, or by accuracy."""
    settings = settings_from(given, LabellingSettings)
    return LabelledSet(
        name=name,
        text=read_examples(given, name, examples),
        metrics=settings.metrics or _metrics(Path(given.corpus)),
        examples_at_once=settings.examples_at_once,
        resamples=settings_from(given, SamplingSettings).resamples,
    )


def read_examples(given: argparse.Namespace, name: str, examples: int | None = None) -> LabelledText:
    """Read a set's examples; labels that neither the corpus nor the model declares are refused."""
    text = read_labelled(Path(given.corpus) / f"{name}.tsv", _declared(given))
    return text.taken(range(min(examples, len(text)))) if examples else text


def batches(model: ClassificationModel, examples: LabelledText, size: int) -> list[Batch]:
    """Return examples in batches of similar length."""
    return model.batches(examples, examples=size)


def final(
    given: argparse.Namespace,  # noqa: ARG001
    judged: LabelledSet,
    model: ClassificationModel,
) -> tuple[Outcome, str, Callable[[str], str]]:
    """Label every example with the likeliest class."""
    return judged.judge(model), "argmax", judged.signature


def _declared(given: argparse.Namespace) -> list[str] | None:
    """Return the labels of the corpus if it declares them, else those of the first checkpoint, if it can be read."""
    corpus = Path(given.corpus)
    if _is_complete(corpus):
        return list(read_labelled_record(corpus)["labels"])
    checkpoint = given.checkpoints[0] if "checkpoints" in given else given.checkpoint
    try:
        return list(json.loads(Path(checkpoint, "config.json").read_bytes())["id2label"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        return None  # loading the model says what is wrong


def _metrics(corpus: Path) -> tuple[str, ...]:
    return tuple(read_labelled_record(corpus)["metrics"]) if _is_complete(corpus) else ("accuracy",)


def _is_complete(corpus: Path) -> bool:
    """Return whether a corpus says what it is; a directory with TSV files alone will do."""
    return (corpus / "corpus.json").is_file()
