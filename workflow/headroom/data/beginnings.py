"""The beginnings of the user's files, read as jobs will read the whole: before any job, and without libraries."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.documents import read_pairs, read_source
from headroom.data.labelled import read_labelled
from headroom.data.parallel import SIDES, read_parallel
from headroom.data.rows import split_rows
from headroom.settings.documents import DocumentFiles
from headroom.settings.labelled import LabelledFilesCorpus
from headroom.settings.parallel import FilesCorpus

MOST = 4_000_000
"""How many bytes of a file are read: a fraction of a second."""


def list_mistakes_of_corpus(corpus: Any) -> Iterator[tuple[str, str]]:
    """Yield the key and a message for every file of a corpus that is there, and that a job could not read."""
    if isinstance(corpus, LabelledFilesCorpus):
        for key, path in corpus.paths.items():
            yield from _tried(key, [path], partial(read_labelled, path, corpus.labels, unquote=True, most=MOST))
    elif isinstance(corpus, DocumentFiles):
        for key, path in corpus.paths.items():
            yield from _tried(key, [path], partial(read_source, path, corpus.documents, most=MOST))
    elif isinstance(corpus, FilesCorpus):
        for name, pair in corpus.pairs.items():
            key, paths = f"far.{name}" if name in corpus.far else name, [str(getattr(pair, side)) for side in SIDES]
            found = [
                one
                for side, path in zip(SIDES, paths, strict=True)
                for one in _tried(f"{key}.{side}", [path], partial(read_lines, path, MOST))
            ]
            yield from found or _tried(key, paths, partial(read_parallel, *paths, most=MOST))


def list_mistakes_of_pairs(path: str) -> Iterator[tuple[str, str]]:
    """Yield the key and a message if a file of minimal pairs is there, and a job could not read it."""
    yield from _tried("path", [path], partial(read_pairs, path, unquote=True, most=MOST))


def list_mistakes_of_trees(path: str) -> Iterator[tuple[str, str]]:
    """Yield the key and a message if a file of trees is there, and a job could not read it."""
    yield from _tried("path", [path], partial(_read_rows, path))


def _read_rows(path: str) -> None:
    """Read the words of a CoNLL-U file, as rows; trees are checked by the job."""
    for number, line in enumerate(read_lines(path, MOST), 1):
        if line.strip() and not line.startswith("#"):
            split_rows([line], columns=10, name=path, first_line=number)


def _tried(key: str, paths: list[str], read: Callable[[], object]) -> Iterator[tuple[str, str]]:
    if all(Path(path).exists() for path in paths):
        try:
            read()
        except HeadroomError as error:
            yield key, " ".join(str(error).split("\n"))
