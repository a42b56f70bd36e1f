"""Download test sets with sacrebleu and write them as a corpus without training text."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from headroom.core.command import run, stage_parser
from headroom.data.parallel import Origin, ParallelText, write_corpus
from headroom.data.sacrebleu_sets import load_test_sets
from headroom.settings.parallel import SacrebleuCorpus, add_corpus, corpus_from

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download_sacrebleu", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_corpus(parser, SacrebleuCorpus)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Get every set, and only then write the corpus; its training text is empty."""
    given = build_parser().parse_args(arguments)
    settings = corpus_from(given, SacrebleuCorpus)
    sets = {"train": ParallelText([], []), **load_test_sets(settings)}
    origin = {**settings.model_dump(mode="json"), "sacrebleu": sacrebleu.__version__, "licences": ["not stated"]}
    source, target = settings.pair.split("-")
    write_corpus(given.output, sets, far=settings.far_names, about=Origin(source, target, origin))
    _log.info("wrote %s to %s", ", ".join(settings.named_sets.values()), given.output)


if __name__ == "__main__":
    run(main)
