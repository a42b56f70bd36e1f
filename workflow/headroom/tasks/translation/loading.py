"""Reads Transformers of fairseq, their vocabulary and sentence pairs."""

import argparse

from headroom.core.command import add_translation_model as add_model
from headroom.data.parallel import ParallelText
from headroom.engines.translation.batches import Batch
from headroom.engines.translation.model import TranslationModel
from headroom.methods.pairs import read_pairs

__all__ = ["LOSS", "add_model", "batches", "load_model", "read_examples"]

LOSS = "token-sum"
"""The loss of an example: summed over the pieces of its reference."""


def load_model(given: argparse.Namespace, checkpoint: str) -> TranslationModel:
    """Load a checkpoint with the vocabulary given."""
    return TranslationModel.load(checkpoint, given.vocabulary, given.device)


def read_examples(given: argparse.Namespace, name: str, examples: int | None = None) -> ParallelText:
    """Read a set's sentence pairs."""
    return read_pairs(given.corpus, name, examples)


def batches(model: TranslationModel, examples: ParallelText, size: int) -> list[Batch]:
    """Return sentence pairs in batches of similar length."""
    return model.batches(examples.source, examples.target, sentences=size)
