"""Parallel text: aligned lines of two languages, checked, and written in the common form of all corpora.

A corpus is a directory with `<set>.source` and `<set>.target` for train, choose, check, test and the
far-domain sets, and `corpus.json`, which is written last: a corpus without it is incomplete.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.corpora import CorpusSets, Text, write_sets
from headroom.data.examination import count_left_out, describe_blank, is_blank

SIDES = ("source", "target")


@dataclass(frozen=True)
class ParallelText(Text):
    """Sentences of the source language and their translations, in the same order."""

    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def inputs(self) -> list[str]:
        """The source sentences."""
        return self.source

    @property
    def parts(self) -> tuple[list[str], list[str]]:
        """Sources and targets."""
        return self.source, self.target

    def taken(self, places: Sequence[int]) -> "ParallelText":
        """Return the pairs at these positions (counted from 0), in this order."""
        return ParallelText(*([side[place] for place in places] for side in self.parts))

    def files(self, name: str) -> dict[str, list[str]]:
        """Return the lines of the files of a set of this name."""
        return {f"{name}.source": self.source, f"{name}.target": self.target}


@dataclass(frozen=True)
class ParallelSets(CorpusSets[ParallelText]):
    """Parallel text from a provider, with the names of the source and the target language."""

    languages: tuple[str, str]

    def _write(self, directory: Path, sets: Mapping[str, ParallelText], **about: Any) -> None:
        write_corpus(directory, sets, languages=self.languages, **about)


def read_parallel(source: Path | str, target: Path | str, *, most: int | None = None) -> ParallelText:
    """Read two aligned files, one sentence a line; white space at the ends of lines and a byte order mark are dropped.

    With `most`, only as many bytes of each are read; of longer files the same number of lines is returned.

    Raises:
        HeadroomError: If a file is missing, empty or not UTF-8, has a line without a visible character, or differs from
            its partner in the number of lines.
    """
    source_lines, target_lines = read_lines(source, most), read_lines(target, most)
    if most is not None and any(os.path.getsize(path) > most for path in (source, target)):
        same = min(len(source_lines), len(target_lines))
        source_lines, target_lines = source_lines[:same], target_lines[:same]
    for lines in (source_lines, target_lines):
        lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    text = ParallelText([line.strip() for line in source_lines], [line.strip() for line in target_lines])
    return check_pairs(text, str(source), str(target))


def read_pairs(corpus: Path | str, name: str, limit: int | None = None) -> ParallelText:
    """Read the sources and the references of a set.

    Args:
        corpus: The directory with `<name>.source` and `<name>.target`.
        name: The set, e.g. `test`.
        limit: Number of sentences from the start; None for all.

    Raises:
        HeadroomError: If a file is missing or empty, or the two differ in length.
    """
    paths = [Path(corpus) / f"{name}.{side}" for side in ("source", "target")]
    sources, references = (read_lines(path) for path in paths)
    if len(sources) != len(references):
        raise HeadroomError(
            f"{paths[0]}: {len(sources)} lines, but {paths[1]} has {len(references)}; give aligned files"
        )
    if not sources:
        raise HeadroomError(f"{paths[0]}: empty file; write one sentence a line")
    return ParallelText(sources[:limit], references[:limit])


def drop_blank_pairs(texts: Mapping[str, ParallelText]) -> tuple[dict[str, ParallelText], dict[str, dict[str, int]]]:
    """Return sets without pairs of which a side has no visible character, and by reason and set how many these are."""
    kept = {
        name: text.taken([place for place, pair in enumerate(zip(*text.parts)) if not any(map(is_blank, pair))])
        for name, text in texts.items()
    }
    return kept, count_left_out(kept, texts, "because a side is empty")


def check_pairs(text: ParallelText, source_name: str, target_name: str) -> ParallelText:
    """Return text that was read from these files if it is valid.

    Raises:
        HeadroomError: If a side is empty or has a line without a visible character, or if the sides differ in length.
    """
    sides = ((text.source, source_name), (text.target, target_name))
    for lines, name in sides:
        if not lines:
            raise HeadroomError(f"{name}: empty file; write one sentence a line")
    if len(text.source) != len(text.target):
        raise HeadroomError(
            f"{source_name}: {len(text.source)} lines, but {target_name} has {len(text.target)};\n"
            "give one translation for every sentence, in the same order"
        )
    for lines, name in sides:
        empty = next((number for number, line in enumerate(lines, 1) if is_blank(line)), None)
        if empty:
            what = describe_blank(lines[empty - 1])
            raise HeadroomError(f"{name}, line {empty}: {what}; remove the pair from both files")
    return text


def write_corpus(
    directory: Path | str,
    sets: Mapping[str, ParallelText],
    *,
    languages: tuple[str, str],
    far: Sequence[str] = (),
    origin: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Write every set and then `corpus.json`; arguments as in `headroom.data.corpora.write_sets`."""
    about = {"source_language": languages[0], "target_language": languages[1]}
    words = {name: sum(len(line.split()) for line in text.source) for name, text in sets.items()}
    counts = {"source_words": words}
    write_sets(directory, sets, far=far, about=about, origin=origin, counts=counts, left_out=left_out)
