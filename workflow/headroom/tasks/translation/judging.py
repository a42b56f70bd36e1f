"""Judges translations: metrics of text, and the loss of the reference."""

import argparse
from collections.abc import Callable
from functools import partial

from headroom.core.command import add_settings, settings_from
from headroom.engines.translation.model import TranslationModel
from headroom.methods.judging import Outcome
from headroom.methods.translated_sets import TranslatedSet
from headroom.methods.translated_sets import load_set as load_translated_set
from headroom.settings.base import SamplingSettings
from headroom.settings.experiments import DecodingSettings, EvaluationSettings

__all__ = ["add_judging", "final", "load_set"]


def add_judging(parser: argparse.ArgumentParser, *, final: bool = False) -> None:
    """Add decoding and resampling; for final scores also the beam."""
    if final:
        add_settings(parser, evaluation=EvaluationSettings)
    add_settings(parser, decoding=DecodingSettings)
    add_settings(parser, sampling=SamplingSettings)


def load_set(given: argparse.Namespace, name: str, *, examples: int | None = None) -> TranslatedSet:
    """Read a set's sources and references."""
    settings_from(given, "evaluation", EvaluationSettings)  # a wrong value is told before anything is read
    return load_translated_set(
        given.corpus,
        name,
        settings_from(given, "decoding", DecodingSettings),
        resamples=settings_from(given, "sampling", SamplingSettings).resamples,
        sentences=examples,
    )


def final(
    given: argparse.Namespace, judged: TranslatedSet, model: TranslationModel
) -> tuple[Outcome, str, Callable[[str], str]]:
    """Translate with a beam."""
    settings = settings_from(given, "evaluation", EvaluationSettings)
    outcome = judged.judge(model, beam=settings.beam, length_penalty=settings.length_penalty)
    signature = partial(judged.signature, beam=settings.beam, lenpen=settings.length_penalty)
    return outcome, f"beam{settings.beam}", signature
