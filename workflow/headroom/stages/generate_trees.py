"""Make a treebank of sentences by the seeded grammar that makes labelled sentence pairs: premises of new pairs."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.data.pair_trees import generate_trees
from headroom.data.treebank import write_treebank
from headroom.data.trees import add_relations, check_relations, read_trees
from headroom.settings.labelled import GeneratedTreebank

_log = logging.getLogger("headroom.stages.generate_trees")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("generate_trees", __doc__ or "")
    parser.add_argument("--seed", type=int, default=1, help="seed of the grammar, as that of the corpus")
    parser.add_argument("--output", type=Path, required=True, help="treebank to write, in CoNLL-U")
    add_relations(parser)
    add_settings(parser, treebank=GeneratedTreebank)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the treebank."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "treebank", GeneratedTreebank)
    write_treebank(given.output, generate_trees(given.seed, settings.sentences), name="premise")
    check_relations(given.relations, read_trees(given.output))
    _log.info("wrote %d sentences to %s", settings.sentences, given.output)


if __name__ == "__main__":
    run(main)
