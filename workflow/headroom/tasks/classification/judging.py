"""Judges labels: which examples are right, and the loss."""

import argparse
from collections.abc import Callable
from pathlib import Path

from headroom.core.command import add_settings, settings_from
from headroom.engines.classification.model import ClassificationModel
from headroom.methods.judging import Outcome
from headroom.methods.labelled_sets import LabelledSet
from headroom.settings.base import SamplingSettings
from headroom.settings.experiments import LabellingSettings
from headroom.tasks.classification.loading import read_examples, record

__all__ = ["add_judging", "final", "load_set"]


def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:  # noqa: ARG001
    """Add metrics and resampling."""
    add_settings(parser, labelling=LabellingSettings)
    add_settings(parser, sampling=SamplingSettings)


def load_set(given: argparse.Namespace, name: str, *, examples: int | None = None) -> LabelledSet:
    """Read a set's examples, judged by the metrics given, or by those of the corpus, or by accuracy."""
    settings = settings_from(given, "labelling", LabellingSettings)
    known = record(Path(given.corpus)) or {"metrics": ["accuracy"]}
    return LabelledSet(
        name=name,
        text=read_examples(given, name, examples),
        metrics=settings.metrics or tuple(known["metrics"]),
        examples_at_once=settings.examples_at_once,
        resamples=settings_from(given, "sampling", SamplingSettings).resamples,
    )


def final(
    given: argparse.Namespace,  # noqa: ARG001
    judged: LabelledSet,
    model: ClassificationModel,
) -> tuple[Outcome, str, Callable[[str], str]]:
    """Label every example with the likeliest class."""
    return judged.judge(model), "argmax", judged.signature
