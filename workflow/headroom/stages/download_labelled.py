"""Fetch a labelled data set of the catalogue, from a mirror or by download, and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.data.catalogue import REQUIRED
from headroom.data.fetching import fetch
from headroom.data.labelled import halves, write_labelled_corpus
from headroom.data.labelled_catalogue import CATALOGUE, find_labelled
from headroom.data.labelled_files import read_set
from headroom.settings.labelled import LabelledCatalogueCorpus

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download_labelled", __doc__)
    parser.add_argument("--mirror", help="directory or address laid out <dataset>/<file>, tried first")
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="the catalogue of labelled data sets")
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_settings(parser, corpus=LabelledCatalogueCorpus)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch all files, read every set, and only then write the corpus.

    Fetched files stay in `downloads/` of the output, so that an interrupted download goes on where it was.
    """
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "corpus", LabelledCatalogueCorpus)
    dataset = find_labelled(settings.dataset, settings.far, given.catalogue)
    names = (*REQUIRED, *settings.far)
    files = dataset.files_of(names)
    fetched = {file.path: fetch(file, given.output / "downloads", mirror=given.mirror) for file in files}
    texts = {name: read_set(dataset, name, fetched) for name in names}
    valid = texts.pop("valid")
    sets = {"train": texts.pop("train"), **halves(valid), **texts}
    licences = sorted({file.licence for file in files})
    about = {**settings.model_dump(mode="json"), "title": dataset.title, "licences": licences}
    write_labelled_corpus(
        given.output, sets, labels=dataset.labels, metrics=dataset.metrics, far=settings.far, about=about
    )
    _log.info("wrote %s to %s", dataset.title, given.output)


if __name__ == "__main__":
    run(main)
