"""Load a translation data set of the Hugging Face Hub and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.data.parallel import Origin, checked, halves, write_corpus
from headroom.data.parallel_hub import load_hub_pairs
from headroom.settings.parallel import ParallelHubCorpus, add_corpus, corpus_from

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download_parallel_hub", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_corpus(parser, ParallelHubCorpus)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Load every split, and only then write the corpus."""
    given = build_parser().parse_args(arguments)
    settings = corpus_from(given, ParallelHubCorpus)
    loaded = load_hub_pairs(settings)
    texts = {name: checked(text, f"{name}.source", f"{name}.target") for name, text in loaded.sets.items()}
    valid = halves(texts.pop("valid"), settings.valid)
    sets = {"train": texts.pop("train"), **valid, **texts}
    origin = {**settings.model_dump(mode="json"), "licences": [loaded.licence]}
    about = Origin(settings.source_language, settings.target_language, origin)
    write_corpus(given.output, sets, far=settings.far_names, about=about)
    _log.info("wrote %d training pairs of %s to %s", len(sets["train"]), settings.dataset, given.output)


if __name__ == "__main__":
    run(main)
