"""Names and letters of the roles that heads hold, as Voita et al. (2019) define them.

A target is what a head points to: a relative position (`-1`), a relation of the dependency tree in one direction
(`nsubj:to-dependent`: the query is the governor), or a rare word (`rarest`, `two-rarest`).
"""

from collections.abc import Iterable

from markupsafe import Markup

from headroom.core.formatting import MINUS
from headroom.experiments.roles.claims import in_order, is_position
from headroom.figures.spec import Key

_ENDS = {
    "nsubj": ("s", "verb", "subject"),
    "obj": ("o", "verb", "object"),
    "dobj": ("o", "verb", "object"),
    "amod": ("a", "noun", "adjective"),
    "advmod": ("d", "verb", "adverb"),
    "det": ("t", "noun", "determiner"),
    "case": ("c", "noun", "preposition"),
    "compound:prt": ("p", "verb", "particle"),
    "obl:agent": ("g", "verb", "agent"),
}
"""By relation: its letter, its governor and its dependent in words."""

_RARE = {"rarest": "rarest word", "two-rarest": "one of the two rarest words"}


def target_name(target: str) -> str:
    """Return a target as readers should see it: `verb → subject`, `−1`, `rarest word`."""
    relation, _, direction = target.rpartition(":")
    if relation:
        _, governor, dependent = _ENDS.get(relation, ("", "governor", relation))
        ends = (governor, dependent) if direction == "to-dependent" else (dependent, governor)
        return " → ".join(ends)
    return _RARE.get(target, target.replace("-", MINUS))


def target_words(target: str) -> str:
    """Return a target in a sentence: `position −1`, `verb → subject`, `rarest word`."""
    return f"position {target_name(target)}" if is_position(target) else target_name(target)


def letter(target: str) -> str:
    """Return the letters of a target in an atlas: `−1`, `s` (to the subject), `S` (from the subject), `r`.

    Relations without a letter of their own are `x` and `X`.
    """
    relation, _, direction = target.rpartition(":")
    if relation:
        small = _ENDS.get(relation, ("x", "", ""))[0]
        return small if direction == "to-dependent" else small.upper()
    return "r" if target in _RARE else target.replace("-", MINUS)


def letters(targets: Iterable[str]) -> str:
    """Return the letters of all targets of one head: positions first, each letter once."""
    ordered = sorted(targets, key=lambda target: (not is_position(target), target in _RARE))
    return " ".join(dict.fromkeys(letter(target) for target in ordered))


def letter_keys(targets: Iterable[str]) -> tuple[Key, ...]:
    """Return the key of the letters of these targets."""
    present = list(dict.fromkeys(targets))
    positions, relations = filter(is_position, present), filter(lambda target: ":" in target, present)
    named = [(letter(target), "relative position") for target in list(positions)[:1]]
    named += [(letter(target), target_name(target)) for target in sorted(relations, key=in_order)]
    named += [("r", "rare words")] if _RARE.keys() & set(present) else []
    sample = Markup(
        '<svg class="sample" viewBox="0 0 20 12" style="fill:var(--ink)" aria-hidden="true">'
        '<text y="11" font-size="13">{}</text></svg>'
    )
    return tuple(Key(sample.format(text), name) for text, name in named)
