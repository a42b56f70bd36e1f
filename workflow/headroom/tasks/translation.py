"""Translation: a fairseq Transformer, its SentencePiece vocabulary, and parallel text."""

import argparse
from collections.abc import Callable
from functools import partial

from headroom.data.parallel import ParallelText
from headroom.ground.command import add_settings, settings_from
from headroom.ground.command import add_translation_model as add_model
from headroom.methods.judging import Outcome
from headroom.methods.pairs import read_pairs
from headroom.methods.translated_sets import TranslatedSet
from headroom.methods.translated_sets import load_set as load_translated_set
from headroom.methods.workload import PARTS, workload
from headroom.models.translation.model import Batch, TranslationModel
from headroom.settings.decoding import DecodingSettings, EvaluationSettings
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

LOSS = "token-sum"
"""The loss of an example: summed over the pieces of its reference."""


def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:
    """Add decoding and resampling; for final scores also the beam."""
    if final:
        add_settings(parser, EvaluationSettings)
    add_settings(parser, DecodingSettings)
    add_settings(parser, SamplingSettings)


def load_model(given: argparse.Namespace, checkpoint: str) -> TranslationModel:
    """Load a checkpoint with the vocabulary given."""
    return TranslationModel.load(checkpoint, given.vocabulary, given.device)


def load_set(given: argparse.Namespace, name: str, *, examples: int | None = None) -> TranslatedSet:
    """Read a set's sources and references."""
    settings_from(given, EvaluationSettings)  # a wrong value is told before anything is read
    return load_translated_set(
        given.corpus,
        name,
        settings_from(given, DecodingSettings),
        resamples=settings_from(given, SamplingSettings).resamples,
        sentences=examples,
    )


def read_examples(given: argparse.Namespace, name: str, examples: int | None = None) -> ParallelText:
    """Read a set's sentence pairs."""
    return read_pairs(given.corpus, name, examples)


def batches(model: TranslationModel, examples: ParallelText, size: int) -> list[Batch]:
    """Return sentence pairs in batches of similar length."""
    return model.batches(examples.source, examples.target, sentences=size)


def final(
    given: argparse.Namespace, judged: TranslatedSet, model: TranslationModel
) -> tuple[Outcome, str, Callable[[str], str]]:
    """Translate with a beam."""
    settings = settings_from(given, EvaluationSettings)
    outcome = judged.judge(model, beam=settings.beam, length_penalty=settings.length_penalty)
    signature = partial(judged.signature, beam=settings.beam, lenpen=settings.length_penalty)
    return outcome, f"beam{settings.beam}", signature
