"""Write a translation model of fairseq, whole or sliced, as a directory of transformers."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import stage_parser

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("convert", __doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="checkpoint of fairseq, e.g. checkpoint_best.pt")
    help_ = "directory with sentencepiece.model, dict.source.txt and dict.target.txt"
    parser.add_argument("--vocabulary", type=Path, required=True, help=help_)
    parser.add_argument("--output", type=Path, required=True, help="directory to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert the model, compare the logits of both, and write the new one."""
    given = build_parser().parse_args(arguments)
    from headroom.engines.fairseq.convert import convert_checkpoint

    convert_checkpoint(given.checkpoint, given.vocabulary, given.output)
    _log.info("wrote %s", given.output)
