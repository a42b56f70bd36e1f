"""Text that is given for a model: recognised, checked, and made the source of a task's sets.

- plain text for a language model: a file of documents, which are divided when they are read, or two files;
- labelled text for a classifier: TSV with named columns;
- parallel text for a translation model: two files that are aligned by line, or a TSV of two columns.

Two files of plain or labelled text are those to choose heads and to test. Other text is halved here, into new files.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.documents import read_source
from headroom.data.labelled import LabelledText, read_labelled
from headroom.data.parallel import SIDES, ParallelText, check_pairs, read_parallel
from headroom.data.rows import split_rows, unquote_rows
from headroom.settings.documents import Documents

FEWEST = 20
"""The fewest examples that are divided."""


@dataclass(frozen=True)
class Given:
    """Text that is given for a model.

    Attributes:
        corpus: The section `corpus` of a task.
        about: What it is, and how it is divided.
        files: The lines of new files with its parts.
    """

    corpus: Mapping[str, Any]
    about: str
    files: Mapping[Path, Sequence[str]] = field(default_factory=dict)


def find_documents(texts: Sequence[str]) -> Given:
    """Return plain text: documents are lines, what is between empty lines, or the files of a directory.

    Raises:
        HeadroomError: If there are too few documents; and as in `read_source`.
    """
    lines = [] if Path(texts[0]).is_dir() else [line.strip() for line in read_lines(texts[0])]
    how: Documents = "line" if "" not in "\n".join(lines).strip().split("\n") else "blank" if lines else "file"
    counts = [len(read_source(place, how)) for place in texts]
    corpus = {"source": "files", "documents": how}
    if len(texts) == 2:
        return Given({**corpus, **_two(texts)}, f"{counts[0]} documents to choose heads, {counts[1]} to test them")
    _require(texts[0], counts[0], "documents, which are lines or divided by empty lines")
    shares = "30 % to choose heads, 30 % to test them, the others say how frequent words are"
    return Given({**corpus, "path": texts[0]}, f"{counts[0]} documents, {shares}")


def find_labelled(texts: Sequence[str], labels: Sequence[str], place: Path) -> Given:
    """Return examples with these labels; those of one file are halved into the directory `place`.

    Raises:
        HeadroomError: If there are too few; and as in `read_labelled`.
    """
    read = [read_labelled(path, labels, unquote=True) for path in texts]
    corpus = {"source": "files", "labels": list(labels)}
    if len(read) == 2:
        about = f"{len(read[0])} examples to choose heads, {len(read[1])} to test them"
        return Given({**corpus, **_two(texts)}, about)
    halves = {name: read[0].taken(places) for name, places in _halve(_keys(read[0]), texts[0]).items()}
    files = {place / file: lines for name, half in halves.items() for file, lines in half.files(name).items()}
    return Given({**corpus, **_two([str(path) for path in files])}, _sizes(halves, texts), files)


def find_parallel(texts: Sequence[str], place: Path) -> Given:
    """Return sentences and their translations, which are halved into the directory `place`.

    Raises:
        HeadroomError: If there are too few; and as in `read_parallel`.
    """
    text = read_parallel(*texts) if len(texts) == 2 else _read_columns(texts[0])
    rows = [*zip(text.source, text.target, strict=True)]
    halves = {
        name: ParallelText(*(list(side) for side in zip(*(rows[number] for number in places), strict=True)))
        for name, places in _halve(text.inputs, texts[0]).items()
    }
    files = {place / file: lines for name, half in halves.items() for file, lines in half.files(name).items()}
    pairs = {name: {side: str(place / f"{name}.{side}") for side in SIDES} for name in halves}
    return Given({"source": "files", **pairs}, _sizes(halves, texts), files)


def _read_columns(path: str) -> ParallelText:
    rows = unquote_rows(split_rows(read_lines(path), columns=2, name=path, first_line=1), name=path, first_line=1)
    return check_pairs(ParallelText(*([row[side].strip() for row in rows] for side in (0, 1))), path, path)


def _two(texts: Sequence[str]) -> dict[str, str]:
    return dict(zip(("valid", "test"), texts, strict=True))


def _sizes(halves: Mapping[str, Any], texts: Sequence[str]) -> str:
    valid, test = map(len, halves.values())
    return f"{valid} examples of {' and '.join(texts)} to choose heads, {test} to test them"


def _keys(text: LabelledText) -> Sequence[object]:
    """Return what decides the half of an example: its first sentence where some repeat."""
    return text.clusters if len({*text.clusters}) < len(text) else text.inputs


def _halve(inputs: Sequence[object], name: str) -> dict[str, list[int]]:
    """Return the positions of the examples of two halves; equal inputs are in the same half."""
    odd = [hashlib.sha256(repr(one).encode()).digest()[0] % 2 for one in inputs]
    halves = {
        part: [place for place, own in enumerate(odd) if own == half] for part, half in (("valid", 0), ("test", 1))
    }
    _require(name, 2 * min(map(len, halves.values())), "examples that differ")
    return halves


def _require(name: str, count: int, what: str) -> None:
    if count < FEWEST:
        raise HeadroomError(
            f"{name}: {count} {what}; give at least {FEWEST}, or two files, to choose and to test heads"
        )
