"""Where subword pieces stand in the plain text that they were made of. No torch."""

import html
import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from headroom.core.errors import HeadroomError

_SPACE, _CONTINUED = "▁", "@@"  # SentencePiece's mark of a space; subword-nmt's of a word that goes on

_LETTER = re.compile(r"&(?:amp|quot|apos|lt|gt|#124|#91|#93);|@-@|.", re.DOTALL)
"""A character as Moses writes it, some escaped."""

_LEAST_FOUND = 0.8
"""Share of letters and digits of the pieces that must be found in the text; other signs are written in many ways."""


def piece_spans(pieces: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return where every piece begins and ends in the text, in characters from 0.

    Works for pieces of SentencePiece and for Moses tokens cut by byte-pair codes. Letters are compared after Unicode's
    normalisation NFKC, which SentencePiece applies; where a piece was written otherwise than the text (Moses has `"`
    for typographical quotation marks), it gets all that stands between its neighbours. A piece that is nothing but the
    mark of a space has no length and stands where the next piece begins.

    Raises:
        HeadroomError: If the pieces are not made of this text.
    """
    written = _written(pieces)
    read = [(letter, place) for place, character in enumerate(text) for letter in _letters(character)]
    places = _aligned([letter for letter, _ in written], read, text)
    found: dict[int, list[int]] = {}
    for (_, owners), (start, end) in zip(written, places, strict=True):
        for index in owners:
            span = found.setdefault(index, [start, end])
            span[:] = min(span[0], start), max(span[1], end)
    spans: list[tuple[int, int]] = []
    following = len(text)
    for index in reversed(range(len(pieces))):
        start, end = found.get(index, (following, following))
        following = start
        spans.append((start, end))
    return spans[::-1]


def _aligned(written: list[str], read: list[tuple[str, int]], text: str) -> list[tuple[int, int]]:
    """Return the piece of text that every letter written stands for."""
    letters = [letter for letter, _ in read]
    if written == letters:
        return [(place, place + 1) for _, place in read]
    matcher = SequenceMatcher(None, written, letters, autojunk=False)
    found = [letter for block in matcher.get_matching_blocks() for letter in written[block.a : block.a + block.size]]
    if _letters_and_digits(found) < _LEAST_FOUND * _letters_and_digits(written):
        raise HeadroomError(f"the model's pieces cannot be brought to places in the text '{text[:60]}'")
    ends = [place for _, place in read] + [len(text)]
    spans: list[tuple[int, int]] = []
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            spans += [(ends[place], ends[place] + 1) for place in range(first, last)]
        else:  # nothing is written for a deletion: start == stop
            end = ends[last - 1] + 1 if last > first else ends[first]
            spans += [(ends[first], end)] * (stop - start)
    return spans


def _written(pieces: Sequence[str]) -> list[tuple[str, frozenset[int]]]:
    """Return the letters of pieces without marks and escapes, each with the pieces that it belongs to.

    Byte-pair codes may cut an escape of Moses: its letter then belongs to several pieces.
    """
    if any(_SPACE in piece for piece in pieces):
        bare = [piece.replace(_SPACE, "") for piece in pieces]
        return [(letter, frozenset([index])) for index, piece in enumerate(bare) for letter in _letters(piece)]
    bare = [piece.removesuffix(_CONTINUED) for piece in pieces]
    owners = [index for index, piece in enumerate(bare) for _ in piece]
    return [
        (letter, frozenset(owners[found.start() : found.end()]))
        for found in _LETTER.finditer("".join(bare))
        for letter in _letters(_unescaped(found[0]))
    ]


def _letters_and_digits(written: Sequence[str]) -> int:
    return sum(letter.isalnum() for letter in written)


def _unescaped(written: str) -> str:
    return "-" if written == "@-@" else html.unescape(written)


@lru_cache(maxsize=2**16)
def _letters(text: str) -> tuple[str, ...]:
    """Return what a text is compared by: its characters after NFKC, without white space."""
    return tuple(letter for letter in unicodedata.normalize("NFKC", text) if not letter.isspace())
