"""Plain text, divided into documents, in the common form of all corpora; and pairs of good and bad sentences.

A corpus is a directory with `<set>.jsonl` for train (which may be empty), choose, check, test and the far-domain sets:
a document a line, as a JSON string, since documents have several lines. `corpus.json` is written last: a corpus
without it is incomplete. `pairs.tsv` is beside them if the study has pairs.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError, shorten
from headroom.core.files import read_lines, write_lines
from headroom.data.corpora import CorpusSets, Request, Text, write_sets
from headroom.data.examination import is_blank, warn_of_blank
from headroom.data.rows import split_header, split_rows, unquote_rows
from headroom.settings.documents import Documents

PAIRS = "pairs.tsv"
COLUMNS = ("group", "good", "bad")
"""The columns of pairs."""

FIRST = 20
"""How many files of a directory are read when only the beginning of the text is."""

_TITLE = re.compile(r"\s*= [^=].* =\s*")
"""A title of WikiText; it stands between empty lines."""


@dataclass(frozen=True)
class DocumentText(Text):
    """Documents, in the order of their source."""

    documents: list[str]

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def inputs(self) -> list[str]:
        """The documents."""
        return self.documents

    @property
    def parts(self) -> tuple[list[str]]:
        """The documents."""
        return (self.documents,)

    def taken(self, places: Sequence[int]) -> "DocumentText":
        """Return the documents at these positions (counted from 0), in this order."""
        return DocumentText([self.documents[place] for place in places])

    def files(self, name: str) -> dict[str, list[str]]:
        """Return the lines of the file of a set of this name."""
        return {f"{name}.jsonl": [json.dumps(document, ensure_ascii=False) for document in self.documents]}


@dataclass(frozen=True)
class DocumentSets(CorpusSets[DocumentText]):
    """Documents from a provider."""

    def write(self, directory: Path, settings: Any, request: Request) -> int:
        """Write the pairs of a request, checked, and then the corpus; return the number of its documents."""
        pairs = [list(COLUMNS), *read_pairs(request.pairs, unquote=True)] if request.pairs else []
        (directory / PAIRS).unlink(missing_ok=True)
        count = super().write(directory, settings, request)
        if pairs:
            write_lines(directory / PAIRS, ["\t".join(row) for row in pairs])
        return count

    def _write(self, directory: Path, sets: Mapping[str, DocumentText], **about: Any) -> None:
        counts = {
            "documents": {name: len(text) for name, text in sets.items()},
            "bytes": {name: sum(len(one.encode()) for one in text.documents) for name, text in sets.items()},
        }
        write_sets(directory, sets, about={}, counts=counts, **about)


def read_source(place: Path | str, how: Documents, *, most: int | None = None) -> list[str]:
    """Return the documents of a text file, or of a directory with a document in every file.

    With `most`, only as many bytes of a file are read, and only the first files of a directory.

    Raises:
        HeadroomError: If the place is not what `how` says, has no document, or a file is empty or not UTF-8.
    """
    place = Path(place)
    if how != "file":
        if place.is_dir():
            raise HeadroomError(f"{place}: a directory; give a text file, or set documents to file")
        return divide(_lines(place, most), how, place)
    if not place.is_dir():
        raise HeadroomError(f"{place}: not a directory; with documents: file, every file in a directory is a document")
    files = sorted(path for path in place.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise HeadroomError(f"{place}: no files; put every document into a file of its own")
    read = files if most is None else files[:FIRST]
    return [document for path in read for document in divide(_lines(path, most), how, path)]


def divide(lines: Sequence[str], how: Documents | str, name: Path | str) -> list[str]:
    """Return the documents in the lines of a file, without empty lines at their ends.

    Args:
        lines: The lines.
        how: What a document is, as in the settings; or `titles`, an article of WikiText with its title.
        name: The name of the file, for messages.

    Raises:
        HeadroomError: If there is none.
    """
    bounds = sorted({0, *(place for place in range(len(lines)) if _starts_document(lines, place, how)), len(lines)})
    documents = ["\n".join(_trimmed(lines[start:end])) for start, end in pairwise(bounds)]
    found = [document for document in documents if document]
    if not found:
        raise HeadroomError(f"{name}: no text; write documents into it, or name another file")
    return found


def divide_sets(documents: Sequence[str], *, valid: float, test: float, seed: int, name: str) -> dict[str, list[str]]:
    """Return the documents of train, valid and test, drawn at random, each set in the given order.

    Args:
        documents: All documents.
        valid: The share for validation, of which there are two documents at least.
        test: The share for the test, at least one document.
        seed: The seed.
        name: Where they come from, for messages.

    Raises:
        HeadroomError: If there are fewer than three.
    """
    count = len(documents)
    if count < 3:
        raise HeadroomError(
            f"{name}: found {count} of at least 3 documents, two to choose and check heads and one for the test; "
            "give more text, or change `documents`, which says what a document is"
        )
    places = random.Random(seed).sample(range(count), count)
    in_valid = min(max(2, round(valid * count)), count - 1)
    in_test = min(max(1, round(test * count)), count - in_valid)
    parts = {
        "train": places[in_valid + in_test :],
        "valid": places[:in_valid],
        "test": places[in_valid : in_valid + in_test],
    }
    return {part: [documents[place] for place in sorted(own)] for part, own in parts.items()}


def read_documents(path: Path | str) -> list[str]:
    """Return the documents of a set of a corpus, `<set>.jsonl`.

    Raises:
        HeadroomError: If a line is not a JSON string; names the line.
    """
    return list(_decoded(path))


def _decoded(path: Path | str) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, str):
            raise HeadroomError(f"{path}, line {number}: not a JSON string; write the corpus again")
        yield document


def read_pairs(path: Path | str, *, unquote: bool = False, most: int | None = None) -> list[tuple[str, str, str]]:
    """Return the group, the good and the bad sentence of every pair of a TSV whose first line names the columns.

    With `unquote` the file may be quoted as pandas does. With `most`, only as many bytes are read.

    Raises:
        HeadroomError: If a column is missing, there is no pair, or a line has an empty sentence; names the line.
    """
    header, *lines = _lines(path, most) or [""]
    names = split_header(header)
    if missing := [name for name in COLUMNS if name not in names]:
        found = shorten(", ".join(filter(None, names))) or "an empty line"
        raise HeadroomError(
            f"{path}, line 1: no column '{missing[0]}' in {found}; "
            "name the columns group, good and bad, with tabs between them"
        )
    rows = split_rows(lines, columns=len(names), name=path, first_line=2)
    if unquote:
        rows = unquote_rows(rows, name=path, first_line=2)
    if not rows:
        raise HeadroomError(f"{path}: no pairs; write one a line, below the names of the columns")
    pairs = []
    for number, row in enumerate(rows, 2):
        group, good, bad = (row[names.index(name)].strip() for name in COLUMNS)
        if any(map(is_blank, (group, good, bad))):
            raise HeadroomError(f"{path}, line {number}: an empty field; correct the line or remove it")
        pairs.append((group, good, bad))
    return pairs


def _lines(path: Path | str, most: int | None = None) -> list[str]:
    """Return the lines of a text file without a byte order mark and carriage returns at their ends."""
    lines = [line.removesuffix("\r") for line in read_lines(path, most)]
    lines = [line.removeprefix("\ufeff") for line in lines[:1]] + lines[1:]
    warn_of_blank(lines, path)
    return lines


def _starts_document(lines: Sequence[str], place: int, how: Documents | str) -> bool:
    if how == "blank":
        return is_blank(lines[place])
    if how == "titles":
        around = [lines[near] for near in (place - 1, place + 1) if 0 <= near < len(lines)]
        return bool(_TITLE.fullmatch(lines[place])) and not any(line.strip() for line in around)
    return how == "line"


def _trimmed(lines: Sequence[str]) -> Sequence[str]:
    """Return lines without the empty ones at both ends."""
    full = [place for place, line in enumerate(lines) if not is_blank(line)]
    return lines[full[0] : full[-1] + 1] if full else []
