"""Common parts of all corpora: requests, halves of validation text, files.

A corpus is a directory with the files of its sets: train, choose, check, test and the far domains. `corpus.json` is
written last: a corpus without it is incomplete.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256, write_lines
from headroom.data.examination import count_repeated

RECORD = "corpus.json"
"""The file that describes a corpus."""


@dataclass(frozen=True)
class Request:
    """The arguments of a provider in addition to the settings of its source.

    Attributes:
        downloads: The directory of downloaded files, so that an interrupted download resumes.
        mirror: A directory or address that is tried before downloads.
        catalogue: A catalogue other than the project's.
        relations: Relations that the trees must contain.
        pairs: A TSV with pairs of sentences, for documents.
    """

    downloads: Path
    mirror: str | None = None
    catalogue: Path | None = None
    relations: tuple[str, ...] = ()
    pairs: Path | None = None


class Text(ABC):
    """Text of any kind, example by example."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Hashable]:
        """The model input of each example."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Sequence[str], ...]:
        """The texts of each example: one list, or several of the same length, e.g. sources and targets."""

    @abstractmethod
    def taken(self, places: Sequence[int]) -> Self:
        """Return the examples at these positions (counted from 0), in this order."""

    @property
    def clusters(self) -> Sequence[Hashable]:
        """A key of each example, equal for those that depend on each other."""
        return range(len(self))

    def halves(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the examples that choose and of those that check: the 1st, 3rd, ..., the others."""
        return range(0, len(self), 2), range(1, len(self), 2)

    @abstractmethod
    def files(self, name: str) -> dict[str, list[str]]:
        """Return the lines of the files of a set of this name."""

    def beside(self, name: str) -> dict[str, list[str]]:  # noqa: ARG002
        """Return the lines of further files about the examples, e.g. trees."""
        return {}


SomeText = TypeVar("SomeText", bound=Text)


@dataclass(frozen=True)
class CorpusSets(Generic[SomeText]):
    """Text from a provider.

    Attributes:
        texts: Examples by set: train, then valid or its halves choose and check, then test and the far domains.
        origin: Metadata in addition to the settings, e.g. licences.
        left_out: By reason and set, how many examples were left out.
        valid: The name of the validation examples in messages.
    """

    texts: Mapping[str, SomeText]
    origin: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict, kw_only=True)
    valid: str = field(default="valid", kw_only=True)

    def write(self, directory: Path, settings: Any, _request: Request) -> int:
        """Write the corpus that settings of text describe and return the number of its examples."""
        sets = halve_valid(self.texts, self.valid)
        for key, text in sets.items():
            for name, lines in text.beside(key).items():
                write_lines(directory / name, lines)
        origin = {**settings.model_dump(mode="json"), **self.origin}
        self._write(directory, sets, far=settings.far_names, origin=origin, left_out=self.left_out)
        return sum(map(len, sets.values()))

    def _write(self, directory: Path, sets: Mapping[str, SomeText], **about: Any) -> None:
        raise NotImplementedError


def halve_valid(texts: Mapping[str, SomeText], name: str = "valid") -> dict[str, SomeText]:
    """Return the sets with the halves `choose` and `check` in the place of `valid` (see `Text.halves`).

    Raises:
        HeadroomError: If `valid`, by this name in the message, has fewer than two examples.
    """
    sets: dict[str, SomeText] = {}
    for key, text in texts.items():
        if key != "valid":
            sets[key] = text
            continue
        if len(text) < 2:
            raise HeadroomError(f"{name}: {len(text)} example; give at least two, one for each half")
        choose, check = text.halves()
        sets |= {"choose": text.taken(choose), "check": text.taken(check)}
    return sets


def write_sets(
    directory: Path | str,
    sets: Mapping[str, Text],
    *,
    far: Sequence[str],
    about: Mapping[str, Any],
    origin: Mapping[str, Any],
    counts: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Write the files of all sets and then `corpus.json`, with their checksums.

    Args:
        directory: The directory of the corpus.
        sets: Text of train, choose, check, test and the far-domain sets, by name.
        far: The names of the far-domain sets.
        about: The entries of `corpus.json` for this kind of text.
        origin: The origin of the text.
        counts: The counts for this kind of text.
        left_out: By reason and set, how many examples were left out.
    """
    directory = Path(directory)
    (directory / RECORD).unlink(missing_ok=True)
    files = {name: lines for key, text in sets.items() for name, lines in text.files(key).items()}
    for name, lines in files.items():
        write_lines(directory / name, lines)
    record = {
        "evaluation_sets": [name for name in sets if name != "train"],
        "far": list(far),
        **about,
        "origin": dict(origin),
        "sizes": {name: len(text) for name, text in sets.items()},
        **counts,
        "left_out": dict(left_out or {}),
        "repeated": count_repeated(
            {name: text.inputs for name, text in sets.items()}, {name: text.clusters for name, text in sets.items()}
        ),
        "sha256": {name: sha256(directory / name) for name in files},
    }
    write_lines(directory / RECORD, [json.dumps(record, indent=2, ensure_ascii=False)])


def read_corpus_record(directory: Path | str) -> dict[str, Any]:
    """Return the content of `corpus.json`.

    Raises:
        HeadroomError: If the directory holds no complete corpus.
    """
    path = Path(directory) / RECORD
    try:
        return json.loads("\n".join(read_lines(path)))
    except json.JSONDecodeError as error:
        raise HeadroomError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); remove the file to write the corpus again"
        ) from error
