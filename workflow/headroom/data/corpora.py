"""What all corpora have in common: a request for one, halves of validation text, overlap with training, the files.

A corpus is a directory with the files of its sets: train, choose, check, test and the far domains. `corpus.json` is
written last: a corpus without it is not complete.
"""

import json
import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256, write_lines

RECORD = "corpus.json"
"""The file that describes a corpus."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What a provider may use besides the settings of its source.

    Attributes:
        downloads: Where fetched files stay, so that an interrupted download resumes.
        mirror: A directory or address that is tried before downloads.
        catalogue: A catalogue other than the project's.
        seed: Seed of the grammar, for trees that it makes.
        relations: Relations that trees must have.
    """

    downloads: Path
    mirror: str | None = None
    catalogue: Path | None = None
    seed: int = 1
    relations: tuple[str, ...] = ()


class CorpusSettings(Protocol):
    """Settings of text, whatever its kind and source."""

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return all settings by name."""


class Examples(Protocol):
    """Text of any kind, example by example."""

    def __len__(self) -> int:
        """Return the number of examples."""

    def every_second(self, start: int) -> Self:
        """Return the examples number start, start + 2, ... (counted from 0)."""


Text = TypeVar("Text", bound=Examples)


def halved(texts: Mapping[str, Text], name: str = "valid") -> dict[str, Text]:
    """Return the sets with `choose` (examples 1, 3, 5, ...) and `check` (2, 4, 6, ...) in the place of `valid`.

    Args:
        texts: Sets by name; without `valid` they stay as they are.
        name: What messages call the validation text.

    Raises:
        HeadroomError: If it has fewer than two examples.
    """
    sets: dict[str, Text] = {}
    for key, text in texts.items():
        if key != "valid":
            sets[key] = text
            continue
        if len(text) < 2:
            raise HeadroomError(f"{name} has {len(text)} example: at least two are needed, one for each half")
        sets |= {"choose": text.every_second(0), "check": text.every_second(1)}
    return sets


def warn_of_overlap(sets: Mapping[str, Sequence[Hashable]]) -> dict[str, int]:
    """Return, and log as warnings, how many inputs of each evaluation set are in train too."""
    train = set(sets["train"])
    found = {name: sum(one in train for one in inputs) for name, inputs in sets.items() if name != "train"}
    for name, count in found.items():
        if count:
            _log.warning("%d of %d examples of %s are in train too", count, len(sets[name]), name)
    return found


def write_files(directory: Path | str, files: Mapping[str, list[str]], record: Mapping[str, Any]) -> None:
    """Write the files of a corpus, and then its record with their checksums.

    Args:
        directory: Where the corpus goes.
        files: The lines of every file by name.
        record: What `corpus.json` says of the corpus.
    """
    directory = Path(directory)
    (directory / RECORD).unlink(missing_ok=True)
    for name, lines in files.items():
        write_lines(directory / name, lines)
    whole = {**record, "sha256": {name: sha256(directory / name) for name in files}}
    write_lines(directory / RECORD, [json.dumps(whole, indent=2, ensure_ascii=False)])


def write_beside(directory: Path | str, files: Mapping[str, list[str]]) -> None:
    """Write the lines of files that belong to a corpus and are no text of it."""
    for name, lines in files.items():
        write_lines(Path(directory) / name, lines)


def read_corpus_record(directory: Path | str) -> dict[str, Any]:
    """Return the content of `corpus.json`.

    Raises:
        HeadroomError: If the directory holds no complete corpus.
    """
    path = Path(directory) / RECORD
    try:
        return json.loads("\n".join(read_lines(path)))
    except json.JSONDecodeError as error:
        raise HeadroomError(f"{path}, line {error.lineno}: not JSON ({error.msg}); make the corpus anew") from error
