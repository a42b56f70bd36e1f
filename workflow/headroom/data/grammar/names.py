"""Names of persons and towns: the long tail of the vocabulary, to be transliterated letter by letter."""

import random
from functools import cache

COUNT = 1000
"""Names of each kind. With Zipf frequencies many of those in a test set never occur in training."""

_ONSETS = (*"bcdfghklmnprstvwy", "th", "sh")
_VOWELS = ("a", "e", "i", "o", "u")
_PERSON_ENDINGS = ("a", "an", "el", "in", "or", "us", "is", "o")
_TOWN_ENDINGS = ("ham", "ford", "wick", "ton", "by")
_LETTERS = {"th": "t", "sh": "sj", "ck": "k", "c": "k", "w": "v", "y": "j"}


@cache
def names(kind: str) -> tuple[str, ...]:
    """Return the names of a kind (`person`, `town`), the most frequent first; always the same."""
    source = random.Random(f"names of kind {kind}")
    endings = _PERSON_ENDINGS if kind == "person" else _TOWN_ENDINGS
    found: dict[str, None] = {}
    while len(found) < COUNT:
        stem = "".join(source.choice(_ONSETS) + source.choice(_VOWELS) for _ in range(source.choice((1, 1, 2))))
        ending = source.choice(endings)
        joint = source.choice("lmnrst") if kind == "person" else ""
        found[(stem + joint + ending).capitalize()] = None
    return tuple(found)


def transliterate(name: str) -> str:
    """Return a name as the target language spells it: `Thewick` becomes `Tevik`.

    Two-letter groups are replaced before single letters, from left to right.
    """
    rest, spelt = name.lower(), ""
    while rest:
        size = 2 if rest[:2] in _LETTERS else 1
        spelt += _LETTERS.get(rest[:size], rest[:size])
        rest = rest[size:]
    return spelt.capitalize()


def gender(name: str) -> str:
    """Return the gender that adjectives agree with: feminine after a final `a`, else masculine."""
    return "f" if name.endswith("a") else "m"
