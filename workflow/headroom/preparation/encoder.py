"""Prepare the initial encoder of a corpus's classifiers: one directory in the Hub's format for all sources."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import write_record
from headroom.core.flags import add_settings, settings_from
from headroom.data.labelled import read_labelled, read_labelled_record
from headroom.settings.models import Encoder, NewEncoder, SelfAttentiveEncoder

if TYPE_CHECKING:
    from headroom.engines.hub.classifier.encoder import StartingPoint

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("encoder", __doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="directory of the labelled corpus")
    parser.add_argument("--output", type=Path, required=True, help="directory of the encoder")
    add_settings(parser, encoder=Encoder)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write config.json, tokenizer.json, tokenizer_config.json, model.safetensors if it is pretrained, and a record."""
    given = build_parser().parse_args(arguments)
    from headroom.engines.hub.classifier.encoder import write_encoder

    settings = settings_from(given, "encoder", cast("type[Encoder]", Encoder))
    start = starting_point(settings, given.corpus)
    write_encoder(start, given.output)
    write_record(given.output)
    _log.info("%s: %d pieces, inputs up to %d", given.output, len(start.tokenizer), start.tokenizer.model_max_length)


def starting_point(settings: Encoder, corpus: Path) -> StartingPoint:
    """Return the encoder with the labels of a corpus.

    Raises:
        HeadroomError: If the corpus or the encoder is invalid.
    """
    from headroom.engines.hub.classifier.encoder import load_pretrained_encoder, new_encoder, self_attentive_start
    from headroom.engines.hub.sources import locate

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
