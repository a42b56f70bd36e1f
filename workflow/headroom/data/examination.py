"""What is odd about text, however it was read: sentences without a visible character, examples that occur again.

Counts go to `corpus.json`, from which the page says them.
"""

import logging
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from itertools import combinations
from pathlib import Path
from typing import Any

_log = logging.getLogger(__name__)


class _Replaced(dict[int, str | int]):
    """A table for `str.translate` that replaces the characters of some categories of Unicode."""

    def __init__(self, categories: str, by: str) -> None:
        super().__init__()
        self._categories, self._by = categories.split(), by

    def __missing__(self, code: int) -> str | int:
        kind = unicodedata.category(chr(code))
        self[code] = self._by if kind in self._categories or kind[0] in self._categories else code
        return self[code]


_INVISIBLE = _Replaced("Z Cc Cf", "")
_INVISIBLE |= dict.fromkeys(map(ord, "\u115f\u1160\u2800\u3164\uffa0\ufe0e\ufe0f"), "")  # fillers, blanks, selectors
_BETWEEN_WORDS = _Replaced("Z Cc Cf P", " ")


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character: only white space, control characters or, e.g., U+200B."""
    return not any(_INVISIBLE[ord(character)] for character in text)


def describe_blank(text: str) -> str:
    """Return for messages what a text without a visible character is: `empty line`, or the characters in it."""
    codes = [f"U+{ord(one):04X}" for one in dict.fromkeys(text.strip())]
    return f"no visible character, only {' and '.join(codes[:2])}" if codes else "empty line"


def normalise_text(text: str) -> str:
    """Return a text without what rarely matters: case, punctuation, kinds and number of spaces, forms of letters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_BETWEEN_WORDS).split()) or text.strip()


def count_disagreeing(inputs: Sequence[Hashable], labels: Sequence[str]) -> int:
    """Return the number of examples whose input another one has with another label, after `normalise_text`."""
    plain = [_normalise(one) for one in inputs]
    known: dict[Hashable, set[str]] = {}
    for one, label in zip(plain, labels, strict=True):
        known.setdefault(one, set()).add(label)
    return sum(len(known[one]) > 1 for one in plain)


def count_left_out(kept: Mapping[str, Sized], given: Mapping[str, Sized], why: str) -> dict[str, dict[str, int]]:
    """Return, and log as warnings, by the reason and by set how many of the given examples were not kept.

    The reason continues `left out`.
    """
    found = {name: len(given[name]) - len(own) for name, own in kept.items() if len(own) < len(given[name])}
    for name, count in found.items():
        _log.warning("%d of %d examples of %s are left out %s", count, len(given[name]), name, why)
    return {why: found} if found else {}


def warn_of_blank(lines: Iterable[str], path: Path | str) -> None:
    """Log lines of a file that look empty and are not; they count as empty."""
    places = [number for number, line in enumerate(lines, 1) if line.strip() and is_blank(line)]
    if places:
        _log.warning("%s, line %d: no visible character; %d such lines are read as empty", path, places[0], len(places))


Inputs = Mapping[str, Sequence[Hashable]]
"""The inputs of each set, by its name."""


def count_repeated(inputs: Inputs, clusters: Inputs | None = None) -> list[dict[str, Any]]:
    """Return, and log as warnings, the examples that occur in another set too, or again in their own.

    Of two sets the examples of the later one are counted. Examples are equal exactly, or after `normalise_text` on
    every part of them; the second number includes the first. A set's own examples count from their second occurrence.
    `widening` is by what factor an interval that takes clusters of examples as independent is too narrow at most: if
    equal examples get equal answers, the variance of a mean is as the sum of the squared sizes of what is independent.
    Examples with equal keys among `clusters` are one, and without each is one of its own.

    Returns:
        A row for each set that is concerned: `set`, `also_in` (the same for a set of its own), `exact`, `normalised`
        and, within a set, `widening`.
    """
    plain = {name: [_normalise(one) for one in own] for name, own in inputs.items()}
    rows = []
    for first, second in [*((name, name) for name in inputs), *combinations(inputs, 2)]:
        exact, normalised = (_count(one[first], one[second], first == second) for one in (inputs, plain))
        row = {"set": second, "also_in": first, "exact": exact, "normalised": normalised}
        if not normalised:
            continue
        if first == second:
            keys = (clusters or {}).get(first, range(len(plain[first])))
            squares = (sum(count**2 for count in Counter(own).values()) for own in (plain[first], keys))
            row["widening"] = round(max(1.0, next(squares) / next(squares)) ** 0.5, 3)
        rows.append(row)
        where = "again in it" if first == second else f"in {first} too"
        _log.warning(
            "%d of %d examples of %s are %s (%d of them with another case, spaces or punctuation)",
            *(normalised, len(inputs[second]), second, where, normalised - exact),
        )
    return rows


def _normalise(example: Hashable) -> Hashable:
    texts = example if isinstance(example, tuple) else (example,)
    return tuple(normalise_text(str(text)) for text in texts)


def _count(first: Sequence[Hashable], second: Sequence[Hashable], same: bool) -> int:
    if same:
        return len(first) - len({*first})
    known = {*first}
    return sum(one in known for one in second)
