"""Words of any script in figures: their direction, and how wide they are."""

import unicodedata
from collections.abc import Sequence

from markupsafe import Markup, escape


def is_from_right(text: str) -> bool:
    """Return whether a text begins, but for neutral characters, in a script that is written from right to left."""
    strong = (unicodedata.bidirectional(char) for char in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def are_from_right(words: Sequence[str]) -> bool:
    """Return whether more words are written from right to left than from left to right."""
    lettered = [word for word in words if any(map(str.isalpha, word))]
    return 2 * sum(map(is_from_right, lettered)) > len(lettered)


def isolate(word: str, *, among_right: bool = False) -> Markup:
    """Return a word with marks that keep its direction from reordering what is beside it (Unicode's UAX 9).

    Words without letters that are written from right to left are unchanged, or `among_right`, between such words, of
    their direction, in which brackets are mirrored. The marks are character references: of characters as such, a page
    shows placeholders.
    """
    kinds = set(map(unicodedata.bidirectional, word))
    if kinds & {"R", "AL"}:
        return Markup("&#x2068;{}&#x2069;").format(word)
    return Markup("&#x2067;{}&#x2069;").format(word) if among_right and "L" not in kinds else escape(word)


def count_columns(word: str) -> float:
    """Return the width of a word in Latin letters: ideographs are wider, combining marks have no width."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in word)
    marks = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in word)
    return len(word) + 0.8 * wide - marks
