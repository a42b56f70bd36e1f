r"""Labelled text: sentences or sentence pairs with a label each, in the common form of all labelled corpora.

A corpus is a directory with `<set>.tsv` for train, choose, check, test and the far-domain sets, and
`corpus.json`, which is written last: a corpus without it is incomplete.

The first line of a `.tsv` names the columns: `sentence` and `label`, or `sentence1`, `sentence2` and `label`.
Fields are separated by tabs and read literally, including quotation marks; lines end at "\n" only. A user's file may be
quoted as pandas does (`headroom.data.rows`).
"""

import logging
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError, shorten
from headroom.core.files import read_lines
from headroom.data.corpora import CorpusSets, Text, read_corpus_record, write_sets
from headroom.data.examination import count_disagreeing, describe_blank, is_blank
from headroom.data.rows import split_header, split_rows, unquote_rows
from headroom.settings.labelled import match_label

SINGLE = ("sentence",)
PAIR = ("sentence1", "sentence2")
LABEL = "label"

_log = logging.getLogger(__name__)

UNLIKELY = 3.3
"""Standard deviations from an even division of a label that chance hardly gives (p = 0.001)."""


@dataclass(frozen=True)
class LabelledText(Text):
    """Examples: sentences, or pairs of a first and a second sentence, and their labels, in the same order."""

    first: list[str]
    second: list[str] | None
    labels: list[str]

    @classmethod
    def of(cls, sides: Iterable[list[str]], labels: list[str]) -> "LabelledText":
        """Return the examples of one or two lists of sentences."""
        first, *second = sides
        return cls(first, second[0] if second else None, labels)

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

    @property
    def parts(self) -> tuple[list[str], ...]:
        """The lists of sentences."""
        return self.sides

    @property
    def clusters(self) -> Sequence[Hashable]:
        """The first sentence of each pair: several pairs may ask about one. Single sentences are not paired."""
        return super().clusters if self.second is None else self.first

    def halves(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the examples that choose and of those that check.

        Pairs with the same first sentence are in the same half. Such clusters of one example or more are divided:
        the 1st, 3rd, ... and the 2nd, 4th, ..., unless a label that occurs twice or more is missing in one of these, or
        is divided as chance would hardly do: then every second cluster of the same labels.
        """
        clusters: dict[Hashable, list[int]] = {}
        for place, key in enumerate(self.clusters):
            clusters.setdefault(key, []).append(place)
        own = list(clusters.values()) if len(clusters) > 1 else [[place] for place in range(len(self))]
        choose, check = _join(own[::2]), _join(own[1::2])
        if _are_uneven(*(Counter(self.labels[place] for place in half) for half in (choose, check))):
            own.sort(key=lambda places: sorted(self.labels.index(self.labels[place]) for place in places))
            choose, check = _join(own[::2]), _join(own[1::2])
        return choose, check

    def taken(self, places: Sequence[int]) -> "LabelledText":
        """Return the examples at these positions (counted from 0), in this order."""
        sides = ([side[place] for place in places] for side in self.sides)
        return LabelledText.of(sides, [self.labels[place] for place in places])

    def files(self, name: str) -> dict[str, list[str]]:
        r"""Return the lines of the file of a set of this name.

        Tabs, ends of lines ("\r", "\n") and NUL inside a sentence become one space.
        """
        header = (*(SINGLE if self.second is None else PAIR), LABEL)
        sides = ([re.sub(r"[\0\t\r\n]+", " ", line).strip() for line in side] for side in self.sides)
        return {f"{name}.tsv": ["\t".join(row) for row in (header, *zip(*sides, self.labels, strict=True))]}


@dataclass(frozen=True)
class LabelledSets(CorpusSets[LabelledText]):
    """Labelled text from a provider.

    Attributes:
        labels: All labels, in the order of a classifier's outputs.
        metrics: The metrics of the task, the main one first.
    """

    labels: Sequence[str]
    metrics: Sequence[str]

    def _write(self, directory: Path, sets: Mapping[str, LabelledText], **about: Any) -> None:
        write_labelled_corpus(directory, sets, labels=self.labels, metrics=self.metrics, **about)


def read_labelled(
    path: Path | str, labels: Sequence[str] | None = None, *, unquote: bool = False, most: int | None = None
) -> LabelledText:
    """Read a TSV of the common form; other columns are ignored, white space around a field is dropped.

    A label that is the same number as one of `labels` is that label. Without `labels` any label may occur. With
    `unquote` the file may be quoted as pandas does (`headroom.data.rows.unquote_rows`). With `most`, only as many bytes
    are read.

    Raises:
        HeadroomError: If the file is missing, is not UTF-8, has no line below the header or a missing column, or
            if a line has another number of columns, an empty sentence or another label; names the line.
    """
    lines = read_lines(path, most)
    if not lines:
        raise HeadroomError(f"{path}: empty file; write the names of the columns into line 1")
    header = split_header(lines[0])
    names = (*(PAIR if {*PAIR} & {*header} else SINGLE), LABEL)
    if missing := [name for name in names if name not in header]:
        raise HeadroomError(
            f"{path}, line 1: no column '{missing[0]}' in {shorten(', '.join(header))}; name the columns sentence and "
            "label, or sentence1, sentence2 and label, with tabs between them"
        )
    rows = split_rows(lines[1:], columns=len(header), name=path, first_line=2)
    if unquote:
        rows = unquote_rows(rows, name=path, first_line=2)
    *sides, given = ([row[header.index(name)].strip() for row in rows] for name in names)
    given = [match_label(label, labels or ()) for label in given]
    return check_text(LabelledText.of(sides, given), labels, name=path, first_line=2)


def check_text(
    text: LabelledText, labels: Sequence[str] | None, *, name: Path | str, first_line: int = 1
) -> LabelledText:
    """Return text that was read from a file, from this line on, if it is valid; without `labels` any label may occur.

    Raises:
        HeadroomError: If there is no example, a sentence is empty, or a label is missing or not among `labels`.
    """
    if not text.labels:
        raise HeadroomError(f"{name}: no examples; write one a line, below the names of the columns")
    for number, (sentences, label) in enumerate(zip(text.inputs, text.labels, strict=True), first_line):
        if blank := [sentence for sentence in sentences if is_blank(sentence)]:
            what = describe_blank(blank[0]).replace("empty line", "a sentence is empty")
            raise HeadroomError(f"{name}, line {number}: {what}; remove the line or complete it")
        if is_blank(label):
            raise HeadroomError(f"{name}, line {number}: the label is empty; remove the line or complete it")
        if labels is not None and label not in labels:
            raise HeadroomError(
                f"{name}, line {number}: undeclared label '{shorten(label)}'; use one of {shorten(', '.join(labels))}"
            )
    return text


def _join(clusters: Sequence[Sequence[int]]) -> list[int]:
    return sorted(chain.from_iterable(clusters))


def _are_uneven(first: Counter[str], second: Counter[str]) -> bool:
    """Return whether labels, counted in two halves, are spread unevenly over them (see `LabelledText.halves`)."""
    both = first + second
    size, total = first.total(), both.total()
    for label, count in both.items():
        if count > 1 and not (first[label] and second[label]):
            return True
        variance = size * (total - size) * count * (total - count) / (total**2 * max(total - 1, 1))  # hypergeometric
        if abs(first[label] - count * size / total) > UNLIKELY * variance**0.5:
            return True
    return False


def check_defined(metrics: Sequence[str], sizes: Mapping[str, int], labels: Sequence[str], name: str) -> None:
    """Check that metrics are defined on a set, given how often each label occurs in it.

    Raises:
        HeadroomError: If all examples have one label, for Matthews correlation, or none has the second of two, for F1.
    """
    occurring = [label for label in labels if sizes.get(label)]
    missing = {"matthews": len(occurring) < 2, "f1": len(labels) == 2 and labels[1] not in occurring}
    if wrong := [metric for metric in metrics if missing.get(metric)]:
        raise HeadroomError(
            f"{name}: all {sum(sizes.values())} examples have the label '{shorten(occurring[0])}', so that {wrong[0]} "
            f"is not defined; give examples of other labels, or leave {wrong[0]} out of corpus.metrics and "
            "labelling.metrics"
        )


def write_labelled_corpus(
    directory: Path | str,
    sets: Mapping[str, LabelledText],
    *,
    labels: Sequence[str],
    metrics: Sequence[str],
    far: Sequence[str] = (),
    origin: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Check every set, write them all and then `corpus.json`.

    Arguments are those of `LabelledSets` and `headroom.data.corpora.write_sets`; train may be empty.

    Raises:
        HeadroomError: If a set is invalid, has pairs of sentences while train has single ones, or has no examples of
            labels without which a metric is not defined.
    """
    kinds = {name: "single sentences" if text.second is None else "pairs of sentences" for name, text in sets.items()}
    for name, text in sets.items():
        if text.labels or name != "train":
            check_text(text, labels, name=f"{name}.tsv", first_line=2)
        if kinds[name] != kinds["train"]:
            found = f"train has {kinds['train']}, {name} has {kinds[name]}"
            raise HeadroomError(f"corpus: {found}; give all sets the same columns")
    about = {
        "labels": list(labels),
        "metrics": list(metrics),
        "sentences_per_example": len(sets["train"].sides),
    }
    sizes = {name: Counter(text.labels) for name, text in sets.items()}
    for name, occurring in sizes.items():
        if occurring or name != "train":
            check_defined(metrics, occurring, labels, f"set {name}")
        if absent := [label for label in labels if occurring and not occurring[label]]:
            _log.warning("%s: none of %d examples has the label %s", name, occurring.total(), " or ".join(absent))
    disagreeing = {name: count_disagreeing(text.inputs, text.labels) for name, text in sets.items()}
    for name, count in disagreeing.items():
        if count:
            _log.warning("%d of %d examples of %s are in it with another label too", count, len(sets[name]), name)
    counts = {
        "disagreeing": {name: count for name, count in disagreeing.items() if count},
        "label_sizes": {name: {label: sizes[name][label] for label in labels} for name in sizes},
        "words": {name: sum(len(line.split()) for side in text.sides for line in side) for name, text in sets.items()},
    }
    write_sets(directory, sets, far=far, about=about, origin=origin, counts=counts, left_out=left_out)


def read_labelled_record(directory: Path | str) -> dict[str, Any]:
    """Return the content of `corpus.json`.

    Raises:
        HeadroomError: If the directory holds no complete corpus of labelled text.
    """
    record = read_corpus_record(directory)
    if "labels" not in record:
        raise HeadroomError(f"{directory}: corpus.json has no 'labels'; give the directory of a labelled corpus")
    return record
