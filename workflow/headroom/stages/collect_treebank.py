"""Take a treebank that is there already, in CoNLL-U, after checking every tree of it."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.files import read_lines, write_lines
from headroom.data.trees import add_relations, check_relations, read_trees

_log = logging.getLogger("headroom.stages.collect_treebank")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("collect_treebank", __doc__ or "")
    parser.add_argument("--input", type=Path, required=True, help="treebank in CoNLL-U")
    parser.add_argument("--output", type=Path, required=True, help="where it goes")
    add_relations(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the treebank and copy it."""
    given = build_parser().parse_args(arguments)
    sentences = read_trees(given.input)
    check_relations(given.relations, sentences)
    write_lines(given.output, read_lines(given.input))
    _log.info("wrote %d sentences to %s", len(sentences), given.output)


if __name__ == "__main__":
    run(main)
