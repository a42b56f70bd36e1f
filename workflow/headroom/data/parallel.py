"""Parallel text: aligned lines of two languages, checked, and written in the common form of all corpora.

A corpus is a directory with `<set>.source` and `<set>.target` for train, choose, check, test and the
far-domain sets, and `corpus.json`, which is written last: a corpus without it is not complete.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256, write_lines

SIDES = ("source", "target")

_log = logging.getLogger(__name__)


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


def halves(valid: ParallelText, name: str = "valid") -> dict[str, ParallelText]:
    """Split validation pairs into `choose` (lines 1, 3, 5, ...) and `check` (lines 2, 4, 6, ...).

    Raises:
        HeadroomError: If there are fewer than two pairs.
    """
    if len(valid) < 2:
        raise HeadroomError(f"{name} has {len(valid)} pair: at least two are needed, one for each half")
    return {"choose": valid.every_second(0), "check": valid.every_second(1)}


def warn_of_overlap(sets: Mapping[str, ParallelText]) -> dict[str, int]:
    """Return, and log as warnings, how many source sentences of each evaluation set are in train too."""
    train = set(sets["train"].source)
    found = {name: sum(line in train for line in text.source) for name, text in sets.items() if name != "train"}
    for name, count in found.items():
        if count:
            _log.warning("%d of %d sentences of %s are in train too", count, len(sets[name]), name)
    return found


def write_corpus(directory: Path | str, sets: Mapping[str, ParallelText], *, far: Sequence[str], about: Origin) -> None:
    """Write every set and then `corpus.json`.

    Args:
        directory: Where the corpus goes.
        sets: Pairs of train, choose, check, test and the far-domain sets, by name.
        far: The names of the far-domain sets.
        about: Languages and origin.
    """
    directory = Path(directory)
    overlap = warn_of_overlap(sets)
    (directory / "corpus.json").unlink(missing_ok=True)
    for name, text in sets.items():
        write_lines(directory / f"{name}.source", text.source)
        write_lines(directory / f"{name}.target", text.target)
    files = [f"{name}.{side}" for name in sets for side in SIDES]
    evaluation = [name for name in sets if name != "train"]
    record = {
        "evaluation_sets": evaluation,
        "far": list(far),
        "source_language": about.source_language,
        "target_language": about.target_language,
        "origin": dict(about.origin),
        "sizes": {name: len(text) for name, text in sets.items()},
        "source_words": {name: sum(len(line.split()) for line in text.source) for name, text in sets.items()},
        "also_in_train": overlap,
        "sha256": {name: sha256(directory / name) for name in files},
    }
    write_lines(directory / "corpus.json", [json.dumps(record, indent=2, ensure_ascii=False)])


def read_corpus_record(directory: Path | str) -> dict[str, Any]:
    """Return the content of `corpus.json`.

    Raises:
        HeadroomError: If the directory holds no complete corpus.
    """
    path = Path(directory) / "corpus.json"
    try:
        return json.loads("\n".join(read_lines(path)))
    except json.JSONDecodeError as error:
        raise HeadroomError(f"{path}, line {error.lineno}: not JSON ({error.msg}); make the corpus anew") from error
