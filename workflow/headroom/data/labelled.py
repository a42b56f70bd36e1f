r"""Labelled text: sentences or sentence pairs with a label each, in the common form of all labelled corpora.

A corpus is a directory with `<set>.tsv` for train, choose, check, test and the far-domain sets, and
`corpus.json`, which is written last: a corpus without it is not complete.

The first line of a `.tsv` names the columns: `sentence` and `label`, or `sentence1`, `sentence2` and `label`.
Fields stand between tabs and are taken as they are, quotation marks too; lines end at "\n" alone.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.corpora import (
    CorpusSettings,
    Request,
    halved,
    read_corpus_record,
    warn_of_overlap,
    write_beside,
    write_files,
)

SINGLE = ("sentence",)
PAIR = ("sentence1", "sentence2")
LABEL = "label"


@dataclass(frozen=True)
class LabelledText:
    """Examples: sentences, or pairs of a first and a second sentence, and their labels, in the same order."""

    first: list[str]
    second: list[str] | None
    labels: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> list[tuple[str, ...]]:
        """The sentence or sentences of each example."""
        return list(zip(*self.sides, strict=True))

    @property
    def sides(self) -> tuple[list[str], ...]:
        """The lists of sentences: one, or two for pairs."""
        return (self.first,) if self.second is None else (self.first, self.second)

    def every_second(self, start: int) -> "LabelledText":
        """Return the examples number start, start + 2, ... (counted from 0)."""
        return self.taken(range(start, len(self), 2))

    def taken(self, places: Sequence[int]) -> "LabelledText":
        """Return the examples at these places (counted from 0), in this order."""
        first, *second = ([side[place] for place in places] for side in self.sides)
        return LabelledText(first, second[0] if second else None, [self.labels[place] for place in places])


@dataclass(frozen=True)
class LabelledSets:
    """Labelled text as a provider gives it.

    Attributes:
        texts: Examples by set: train, then valid or its halves choose and check, then test and the far domains.
        labels: All labels, in the order of a classifier's outputs.
        metrics: How the task is judged, the main metric first.
        origin: What is known of it besides its settings, e.g. licences.
        valid: What messages call the validation examples.
        beside: Lines of further files by name, e.g. edits.
    """

    texts: Mapping[str, LabelledText]
    labels: Sequence[str]
    metrics: Sequence[str]
    origin: Mapping[str, Any] = field(default_factory=dict)
    valid: str = "valid"
    beside: Mapping[str, list[str]] = field(default_factory=dict)

    def write(self, directory: Path, settings: CorpusSettings, _request: Request) -> int:
        """Write the corpus and return the number of its examples."""
        sets = halved(self.texts, self.valid)
        write_beside(directory, self.beside)
        about = {**settings.model_dump(mode="json"), **self.origin}
        kinds: dict[str, Any] = {"labels": self.labels, "metrics": self.metrics, "far": settings.far_names}
        write_labelled_corpus(directory, sets, **kinds, about=about)
        return sum(map(len, sets.values()))


def read_labelled(path: Path | str, labels: Sequence[str] | None = None) -> LabelledText:
    """Read a TSV of the common form; other columns may stand between, white space around a field is dropped.

    Args:
        path: The file.
        labels: The labels that may occur; without it any may.

    Raises:
        HeadroomError: If the file is missing, is not UTF-8, lacks a column or has no line below their names, or
            if a line has another number of columns, an empty sentence or another label; names the line.
    """
    lines = read_lines(path)
    if not lines:
        raise HeadroomError(f"{path} is empty: expected the names of the columns in line 1")
    header = [name.strip() for name in lines[0].removeprefix("\ufeff").split("\t")]
    places = _places(header, path)
    rows = split_rows(lines[1:], columns=len(header), name=path, first_line=2)
    first, *second, given = ([row[place].strip() for row in rows] for place in places)
    return checked(LabelledText(first, second[0] if second else None, given), labels, name=path, first_line=2)


def split_rows(lines: Sequence[str], *, columns: int, name: Path | str, first_line: int) -> list[list[str]]:
    """Split lines at tabs.

    Args:
        lines: Lines of a table.
        columns: How many columns every line must have.
        name: The file, for error messages.
        first_line: The number of the first of the lines in its file.

    Raises:
        HeadroomError: If a line has another number of columns.
    """
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, first_line):
        if len(row) != columns:
            found = "is empty" if row == [""] else f"has {len(row)} columns"
            raise HeadroomError(f"{name}, line {number} {found}: expected {columns}, with single tabs between them")
    return rows


def checked(text: LabelledText, labels: Sequence[str] | None, *, name: Path | str, first_line: int = 1) -> LabelledText:
    """Return the text if it is sound.

    Args:
        text: The examples as they were read.
        labels: The labels that may occur; without it any may.
        name: The file that the examples were read from, for error messages.
        first_line: The number of the first example's line in that file.

    Raises:
        HeadroomError: If there is no example, a sentence is empty, or a label is missing or not among `labels`.
    """
    if not text.labels:
        raise HeadroomError(f"{name} has no examples: expected one a line, below the names of the columns")
    for number, (sentences, label) in enumerate(zip(text.inputs, text.labels, strict=True), first_line):
        if not all(sentence.strip() for sentence in sentences):
            raise HeadroomError(f"{name}, line {number}: a sentence is empty; remove the line or complete it")
        if not label:
            raise HeadroomError(f"{name}, line {number}: the label is empty; remove the line or complete it")
        if labels is not None and label not in labels:
            raise HeadroomError(
                f"{name}, line {number}: the label '{label}' is not among the declared ones: {', '.join(labels)}"
            )
    return text


def write_labelled_corpus(
    directory: Path | str,
    sets: Mapping[str, LabelledText],
    *,
    labels: Sequence[str],
    metrics: Sequence[str],
    far: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    r"""Check every set, write them all and then `corpus.json`.

    Tabs, ends of lines ("\r", "\n") and NUL inside a sentence become one space.

    Args:
        directory: Where the corpus goes.
        sets: Examples of train (which may be empty, if nothing is trained), choose, check, test and the far-domain
            sets, by name.
        labels: All labels, in the order of a classifier's outputs.
        metrics: How the task is judged, the main metric first.
        far: The names of the far-domain sets.
        about: Where the text comes from, with its licences if they are known.

    Raises:
        HeadroomError: If a set is not sound, or has pairs of sentences where train has single ones.
    """
    sets = {name: _plain(text) for name, text in sets.items()}
    for name, text in sets.items():
        if text.labels or name != "train":
            checked(text, labels, name=f"{name}.tsv", first_line=2)
        if len(text.sides) != len(sets["train"].sides):
            kinds = f"train has {_kind(sets['train'])}, {name} has {_kind(text)}"
            raise HeadroomError(f"{kinds}: give all sets the same columns")
    record = {
        "evaluation_sets": [name for name in sets if name != "train"],
        "far": list(far),
        "labels": list(labels),
        "metrics": list(metrics),
        "sentences_per_example": len(sets["train"].sides),
        "origin": dict(about),
        "sizes": {name: len(text) for name, text in sets.items()},
        "label_sizes": {name: _label_sizes(text, labels) for name, text in sets.items()},
        "words": {name: sum(len(line.split()) for side in text.sides for line in side) for name, text in sets.items()},
        "also_in_train": warn_of_overlap({name: text.inputs for name, text in sets.items()}),
    }
    write_files(directory, {f"{name}.tsv": _table(text) for name, text in sets.items()}, record)


def read_labelled_record(directory: Path | str) -> dict[str, Any]:
    """Return the content of `corpus.json`.

    Raises:
        HeadroomError: If the directory holds no complete corpus of labelled text.
    """
    record = read_corpus_record(directory)
    if "labels" not in record:
        raise HeadroomError(f"{directory} holds no labelled text: its corpus.json has no 'labels'")
    return record


def _places(header: Sequence[str], path: Path | str) -> list[int]:
    """Return where the columns of the sentences and of the label stand."""
    names = PAIR if {*PAIR} & {*header} else SINGLE
    for name in (*names, LABEL):
        if name not in header:
            raise HeadroomError(
                f"{path}, line 1: no column '{name}' among {', '.join(header)}; name the columns sentence and label, "
                "or sentence1, sentence2 and label, with tabs between them"
            )
    return [header.index(name) for name in (*names, LABEL)]


def _plain(text: LabelledText) -> LabelledText:
    first, *second = ([re.sub(r"[\0\t\r\n]+", " ", line).strip() for line in side] for side in text.sides)
    return LabelledText(first, second[0] if second else None, text.labels)


def _table(text: LabelledText) -> list[str]:
    rows = zip(*text.sides, text.labels, strict=True)
    header = (*(SINGLE if text.second is None else PAIR), LABEL)
    return ["\t".join(row) for row in (header, *rows)]


def _label_sizes(text: LabelledText, labels: Sequence[str]) -> dict[str, int]:
    counts = Counter(text.labels)
    return {label: counts[label] for label in labels}


def _kind(text: LabelledText) -> str:
    return "single sentences" if text.second is None else "pairs of sentences"
