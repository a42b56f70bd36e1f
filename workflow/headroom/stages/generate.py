"""Make a corpus by the seeded grammar: sentence pairs and the dependency trees of the source side."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.data.generated import SOURCE_LANGUAGE, TARGET_LANGUAGE, generate_sets
from headroom.data.parallel import Origin, write_corpus
from headroom.data.treebank import write_treebank
from headroom.settings.parallel import GeneratedCorpus

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("generate", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_settings(parser, corpus=GeneratedCorpus)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the plain text of all sets, a `.conllu` per set, and `corpus.json` last."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "corpus", GeneratedCorpus)
    sets = generate_sets(settings)
    for name, pair in sets.items():
        write_treebank(given.output / f"{name}.conllu", pair.trees, name=name)
    about = Origin(SOURCE_LANGUAGE, TARGET_LANGUAGE, settings.model_dump())
    write_corpus(given.output, {name: pair.pairs for name, pair in sets.items()}, far=("far",), about=about)
    _log.info("wrote %d sentence pairs to %s", sum(len(pair.pairs) for pair in sets.values()), given.output)


if __name__ == "__main__":
    run(main)
