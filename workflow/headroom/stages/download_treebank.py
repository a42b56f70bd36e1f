"""Fetch a treebank of the catalogue, from a mirror or by download."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.core.files import write_lines
from headroom.data.fetching import fetch, unpacked_lines
from headroom.data.treebank_catalogue import CATALOGUE, find_treebank
from headroom.data.trees import add_relations, check_relations, read_trees
from headroom.settings.labelled import CatalogueTreebank

_log = logging.getLogger("headroom.stages.download_treebank")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download_treebank", __doc__ or "")
    parser.add_argument("--mirror", help="directory or address laid out <treebank>/<file>, tried first")
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="the catalogue of treebanks")
    parser.add_argument("--output", type=Path, required=True, help="treebank to write, in CoNLL-U")
    add_relations(parser)
    add_settings(parser, treebank=CatalogueTreebank)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch the file and write it; what was fetched stays in `downloads/` beside the output."""
    given = build_parser().parse_args(arguments)
    treebank = find_treebank(settings_from(given, "treebank", CatalogueTreebank).treebank, given.catalogue)
    fetched = fetch(treebank.file, given.output.parent / "downloads", mirror=given.mirror)
    write_lines(given.output, unpacked_lines(fetched, treebank.file))
    check_relations(given.relations, read_trees(given.output))
    _log.info("wrote %s to %s (licence: %s)", treebank.title, given.output, treebank.file.licence)


if __name__ == "__main__":
    run(main)
