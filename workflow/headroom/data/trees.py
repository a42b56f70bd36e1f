"""Dependency trees read from CoNLL-U, each word with its position in the plain text of its sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import conllu
from conllu.exceptions import ParseException

from headroom.core.errors import HeadroomError, shorten
from headroom.core.files import read_lines, write_lines
from headroom.data.corpora import Request

_ROW = re.compile(r"(0|[1-9][0-9]{0,5})([-.][1-9][0-9]{0,5})?(\t[^\t]+){9}")
"""A word, or several written as one (8-9), or an empty node (8.1)."""


@dataclass(frozen=True)
class Word:
    """One word of a tree.

    Attributes:
        form: Its form in the tree.
        start: Its start in the text of its sentence, in characters from 0.
        end: Its end there. The words of a multiword token (don't = do n't) share the span of its surface form.
        governor: The index of its governor, counted from 0; None for the root.
        relation: The relation to its governor.
    """

    form: str
    start: int
    end: int
    governor: int | None
    relation: str


@dataclass(frozen=True)
class ParsedSentence:
    """The plain text of a sentence and its words; without trees no word has a governor or a relation."""

    text: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Trees:
    """A treebank from a provider: the lines of a CoNLL-U file, and its name in messages."""

    lines: list[str]
    place: Path | str

    def write(self, path: Path, _settings: object, request: Request) -> int:
        """Validate every tree, write them all and return their number.

        Raises:
            HeadroomError: As in `parse_trees`, and if a relation of the request is missing.
        """
        sentences = parse_trees(self.lines, self.place)
        check_relations(request.relations, sentences)
        write_lines(path, self.lines)
        return len(sentences)


def read_trees(path: Path | str) -> list[ParsedSentence]:
    """Read the sentences of a CoNLL-U file; raises HeadroomError as `parse_trees` does, and if the file is missing."""
    return parse_trees(read_lines(path), path)


def parse_trees(lines: Sequence[str], path: Path | str) -> list[ParsedSentence]:
    """Return the sentences of the lines of a CoNLL-U file (https://universaldependencies.org/format.html).

    Multiword tokens determine the positions of their words; empty nodes (8.1) are ignored. The text is that of
    the comment `# text =`, or else the forms, separated by spaces except after `SpaceAfter=No`. Windows line
    endings and a byte order mark are accepted.

    Raises:
        HeadroomError: If there is no sentence, if a sentence is not a tree, has an unknown governor or a word that
            is not in its text; names the file and the line.
    """
    lines = [line.removesuffix("\r") for line in lines]
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    sentences = [_sentence(rows, path, first) for first, rows in _blocks(lines)]
    if not sentences:
        raise HeadroomError(f"{path}: no sentences; give trees in CoNLL-U")
    return sentences


def plain_sentence(text: str) -> ParsedSentence:
    """Return a sentence without a tree, split at white space."""
    words, place = [], 0
    for form in text.split():
        start = text.index(form, place)
        place = start + len(form)
        words.append(Word(form, start, place, None, ""))
    return ParsedSentence(text, tuple(words))


def relations_in(sentences: Sequence[ParsedSentence]) -> list[str]:
    """Return the names of all relations that occur, sorted."""
    return sorted({word.relation for sentence in sentences for word in sentence.words if word.governor is not None})


def check_relations(relations: Sequence[str], sentences: Sequence[ParsedSentence]) -> None:
    """Raise HeadroomError, with the key, if a relation is not in a treebank."""
    known = relations_in(sentences)
    if unknown := [name for name in relations if name not in known]:
        raise HeadroomError(
            f"attention_stats.relations (--relations): the treebank has no relation '{unknown[0]}'; choose from "
            f"{', '.join(known)}"
        )


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of every sentence, and the number of the first of them."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            if not all(row.startswith("#") for row in block):
                yield number - len(block), block
            block = []


def _sentence(rows: list[str], path: Path | str, first: int) -> ParsedSentence:
    _check_rows(rows, path, first)
    lines = {index: first + place for place, index in enumerate(row.split("\t")[0] for row in rows) if index.isdigit()}
    try:
        tokens = conllu.parse("\n".join(rows))[0]
    except (ParseException, IndexError) as error:
        raise HeadroomError(f"{path}, line {first}: not CoNLL-U ({error}); correct the sentence") from error
    words = [token for token in tokens if isinstance(token["id"], int)]
    if [word["id"] for word in words] != list(range(1, len(words) + 1)):
        raise HeadroomError(
            f"{path}, line {first}: the words of the sentence are not numbered consecutively; number them 1, 2, 3, ..."
        )
    where = [f"{path}, line {lines[str(word['id'])]}" for word in words]
    _check_tree(words, where)
    forms = _surface(tokens)
    text = tokens.metadata.get("text") or "".join(form + " " * has_space for form, _, has_space in forms).rstrip(" ")
    spans = _spans(text, forms, where)
    governors = [word["head"] - 1 if word["head"] else None for word in words]
    found = (Word(one["form"], *spans[one["id"]], head, one["deprel"]) for one, head in zip(words, governors))
    return ParsedSentence(text, tuple(found))


def _check_rows(rows: Sequence[str], path: Path | str, first: int) -> None:
    for number, row in enumerate(rows, first):
        if not row.startswith("#") and not _ROW.fullmatch(row):
            raise HeadroomError(
                f"{path}, line {number}: not a word in CoNLL-U; write a number and nine more columns, none empty, "
                "with single tabs between them"
            )


def _check_tree(words: Sequence[conllu.Token], where: Sequence[str]) -> None:
    """Raise HeadroomError, with the line, unless all words are connected to one root."""
    governors = [word.get("head") for word in words]
    for place, governor in zip(where, governors):
        if governor is None:
            raise HeadroomError(f"{place}: the word has no governor; fill in column 7")
        if not 0 <= governor <= len(words):
            raise HeadroomError(f"{place}: unknown governor {governor}; give a number up to {len(words)} in column 7")
    if governors.count(0) != 1:
        raise HeadroomError(
            f"{where[0]}: not a tree, {governors.count(0)} words have governor 0; give it to exactly one"
        )
    for number, place in enumerate(where, 1):
        steps, at = 0, number
        while at and steps <= len(words):
            steps, at = steps + 1, governors[at - 1]
        if at:
            raise HeadroomError(
                f"{place}: not a tree, the word depends on itself through at most {steps - 1} others; correct column 7"
            )


def _surface(tokens: conllu.TokenList) -> list[tuple[str, range, bool]]:
    """Return the surface tokens in order: a form, the numbers of its words, and whether a space follows."""
    forms: list[tuple[str, range, bool]] = []
    covered = 0
    for token in tokens:
        number = token["id"]
        if isinstance(number, int):
            first, last = number, number
        else:  # several words written as one (8-9), or an empty node (8.1), which is not in the text
            first, last = number[0], number[2] if number[1] == "-" else 0
        if last > covered:
            covered = last
            has_space = (token.get("misc") or {}).get("SpaceAfter") != "No"
            forms.append((token["form"], range(first, last + 1), has_space))
    return forms


def _spans(text: str, forms: Sequence[tuple[str, range, bool]], where: Sequence[str]) -> dict[int, tuple[int, int]]:
    spans, place = {}, 0
    for form, words, _ in forms:
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(form, place):
            found = text[place : place + 20]
            raise HeadroomError(
                f"{where[words.start - 1]}: tree and text do not align, '{shorten(form)}' is not in the text, "
                f"which continues with '{found}'; correct the comment `# text`"
            )
        spans.update(dict.fromkeys(words, (place, place + len(form))))
        place += len(form)
    if rest := text[place:].strip():
        raise HeadroomError(
            f"{where[-1]}: tree and text do not align, no word of the tree is '{shorten(rest)}'; "
            "correct the comment `# text`"
        )
    return spans
