"""Fetch a data set of the catalogue, from a mirror or by download, and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.data.catalogue import CATALOGUE, REQUIRED, Dataset, find_dataset
from headroom.data.fetching import fetch, unpacked_lines
from headroom.data.parallel import SIDES, Origin, ParallelText, checked, halves, write_corpus
from headroom.settings.parallel import CatalogueCorpus

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download", __doc__)
    parser.add_argument("--mirror", help="directory or address laid out <dataset>/<file>, tried first")
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="the catalogue of data sets")
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_settings(parser, corpus=CatalogueCorpus)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch all files, check them, and only then write the corpus.

    Fetched files stay in `downloads/` of the output, so that an interrupted download goes on where it was.
    """
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "corpus", CatalogueCorpus)
    dataset = find_dataset(settings.dataset, settings.far, given.catalogue)
    texts = {
        name: _read(dataset, name, given.output / "downloads", given.mirror) for name in (*REQUIRED, *settings.far)
    }
    valid = texts.pop("valid")
    sets = {"train": texts.pop("train"), **halves(valid), **texts}
    licences = sorted({file.licence for file in dataset.files if file.set in (*REQUIRED, *settings.far)})
    origin = {**settings.model_dump(mode="json"), "title": dataset.title, "licences": licences}
    about = Origin(dataset.source_language, dataset.target_language, origin)
    write_corpus(given.output, sets, far=settings.far, about=about)
    _log.info("wrote %s to %s", dataset.title, given.output)


def _read(dataset: Dataset, name: str, directory: Path, mirror: str | None) -> ParallelText:
    """Fetch both sides of a set and return its pairs."""
    files = [dataset.file(name, side) for side in SIDES]
    paths = [fetch(file, directory, mirror=mirror) for file in files]
    sides = ([line.strip() for line in unpacked_lines(*pair)] for pair in zip(paths, files, strict=True))
    return checked(ParallelText(*sides), *map(str, paths))


if __name__ == "__main__":
    run(main)
