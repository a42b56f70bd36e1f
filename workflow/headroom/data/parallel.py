"""Parallel text: aligned lines of two languages, checked, and written in the common form of all corpora.

A corpus is a directory with `<set>.source` and `<set>.target` for train, choose, check, test and the
far-domain sets, and `corpus.json`, which is written last: a corpus without it is not complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.corpora import CorpusSettings, Request, halved, warn_of_overlap, write_beside, write_files

SIDES = ("source", "target")


@dataclass(frozen=True)
class ParallelText:
    """Sentences of the source language and their translations, in the same order."""

    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def every_second(self, start: int) -> "ParallelText":
        """Return the pairs number start, start + 2, ... (counted from 0)."""
        return ParallelText(self.source[start::2], self.target[start::2])


@dataclass(frozen=True)
class ParallelSets:
    """Parallel text as a provider gives it.

    Attributes:
        texts: Pairs by set: train, then valid or its halves choose and check, then test and the far domains.
        languages: Names of the source and the target language.
        origin: What is known of it besides its settings, e.g. licences.
        valid: What messages call the validation pairs.
        beside: Lines of further files by name, e.g. trees.
    """

    texts: Mapping[str, ParallelText]
    languages: tuple[str, str]
    origin: Mapping[str, Any] = field(default_factory=dict)
    valid: str = "valid"
    beside: Mapping[str, list[str]] = field(default_factory=dict)

    def write(self, directory: Path, settings: CorpusSettings, _request: Request) -> int:
        """Write the corpus and return the number of its pairs."""
        sets = halved(self.texts, self.valid)
        write_beside(directory, self.beside)
        about = Origin(*self.languages, {**settings.model_dump(mode="json"), **self.origin})
        write_corpus(directory, sets, far=settings.far_names, about=about)
        return sum(map(len, sets.values()))


@dataclass(frozen=True)
class Origin:
    """What a corpus says of itself: its languages and where it comes from."""

    source_language: str
    target_language: str
    origin: Mapping[str, Any]


def read_parallel(source: Path | str, target: Path | str) -> ParallelText:
    """Read two aligned files, one sentence a line; white space at the ends of lines and a mark in front are dropped.

    Raises:
        HeadroomError: If a file is missing, empty or not UTF-8, has an empty line, or has another number
            of lines than its partner.
    """
    text = ParallelText(*([line.strip() for line in _without_mark(read_lines(path))] for path in (source, target)))
    return checked(text, str(source), str(target))


def checked(text: ParallelText, source_name: str, target_name: str) -> ParallelText:
    """Return the text if it is sound.

    Args:
        text: Both sides as they were read.
        source_name: The file that the source side was read from, for error messages.
        target_name: The file that the target side was read from.

    Raises:
        HeadroomError: If a side is empty or has an empty line, or if the sides differ in length.
    """
    sides = ((text.source, source_name), (text.target, target_name))
    for lines, name in sides:
        if not lines:
            raise HeadroomError(f"{name} is empty: expected one sentence a line")
    if len(text.source) != len(text.target):
        raise HeadroomError(
            f"{source_name} has {len(text.source)} lines but {target_name} has {len(text.target)}:\n"
            "parallel files must have one translation for every sentence, in the same order"
        )
    for lines, name in sides:
        empty = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
        if empty:
            raise HeadroomError(f"{name}, line {empty} is empty: remove the pair from both files")
    return text


def _without_mark(lines: list[str]) -> list[str]:
    """Return lines without the byte order mark that some programs write in front of UTF-8."""
    return [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []


def write_corpus(directory: Path | str, sets: Mapping[str, ParallelText], *, far: Sequence[str], about: Origin) -> None:
    """Write every set and then `corpus.json`.

    Args:
        directory: Where the corpus goes.
        sets: Pairs of train, choose, check, test and the far-domain sets, by name.
        far: The names of the far-domain sets.
        about: Languages and origin.
    """
    record = {
        "evaluation_sets": [name for name in sets if name != "train"],
        "far": list(far),
        "source_language": about.source_language,
        "target_language": about.target_language,
        "origin": dict(about.origin),
        "sizes": {name: len(text) for name, text in sets.items()},
        "source_words": {name: sum(len(line.split()) for line in text.source) for name, text in sets.items()},
        "also_in_train": warn_of_overlap({name: text.source for name, text in sets.items()}),
    }
    files = {f"{name}.{side}": getattr(text, side) for name, text in sets.items() for side in SIDES}
    write_files(directory, files, record)
