"""Prepare the initial encoder of a corpus's classifiers: one directory in the Hub's format for all sources."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.files import write_record
from headroom.data.labelled import read_labelled, read_labelled_record
from headroom.settings.job import Job
from headroom.settings.models import Encoder, NewEncoder, SelfAttentiveEncoder

if TYPE_CHECKING:
    from headroom.training.classifier.encoder import StartingPoint

_log = logging.getLogger(__name__)


class EncoderJob(Job):
    """Prepare the initial encoder of classifiers."""

    corpus: Path = Field(description="directory of the labelled corpus")
    output: Path = Field(description="directory of the encoder")
    encoder: Encoder = NewEncoder()


def run(job: EncoderJob) -> None:
    """Write config.json, tokenizer.json, tokenizer_config.json, model.safetensors if it is pretrained, and a record."""
    from headroom.training.classifier.encoder import write_encoder

    start = starting_point(job.encoder, job.corpus)
    write_encoder(start, job.output)
    write_record(job.output)
    _log.info("%s: %d tokens, inputs up to %d", job.output, len(start.tokenizer), start.tokenizer.model_max_length)


def starting_point(settings: Encoder, corpus: Path) -> StartingPoint:
    """Return the encoder with the labels of a corpus.

    Raises:
        HeadroomError: If the corpus or the encoder is invalid.
    """
    from headroom.models.sources import locate
    from headroom.training.classifier.encoder import load_pretrained_encoder, new_encoder, self_attentive_start

    labels = read_labelled_record(corpus)["labels"]
    if len(labels) < 2:
        raise HeadroomError(f"{corpus / 'corpus.json'}: found {len(labels)} labels; give two or more")
    if not isinstance(settings, NewEncoder | SelfAttentiveEncoder):
        return load_pretrained_encoder(locate(settings), labels)
    text = read_labelled(corpus / "train.tsv", labels)
    sentences = [sentence for side in text.sides for sentence in side]
    if isinstance(settings, SelfAttentiveEncoder):
        return self_attentive_start(settings, sentences, labels)
    return new_encoder(settings, sentences, labels)
