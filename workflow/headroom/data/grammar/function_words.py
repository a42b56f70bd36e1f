"""The closed classes: determiners, prepositions, conjunctions, modals, and agreement endings."""

from dataclasses import dataclass

# One row per (gender or plural), one column per case. As in German, endings repeat across the table,
# so that an ending alone does not tell the case.
_CASES = ("nom", "acc", "dat")
_DETERMINER = {
    "m": ("er", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("as", "as", "em"),
    "plural": ("i", "i", "en"),
}
_ADJECTIVE = {
    "m": ("o", "on", "ou"),
    "f": ("a", "an", "ai"),
    "n": ("u", "u", "ou"),
    "plural": ("ei", "ein", "ein"),
}


@dataclass(frozen=True)
class Determiner:
    """A determiner: source words for singular and plural (None where there is none) and the target stem."""

    singular: str | None
    plural: str | None
    stem: str
    declines: bool = True
    universal: str = "DET"

    def source(self, plural: bool) -> str | None:
        """Return the source word, or None where the determiner lacks that number."""
        return self.plural if plural else self.singular

    def target(self, agreement: str, case: str) -> str:
        """Return the target form for a gender (m, f, n) or `plural`, and a case."""
        return self.stem + determiner_ending(agreement, case) if self.declines else self.stem


@dataclass(frozen=True)
class Preposition:
    """A preposition: source word, target word and the case it governs."""

    word: str
    target: str
    case: str


@dataclass(frozen=True)
class Word:
    """A word that does not inflect in the source language: its target word or stem."""

    word: str
    target: str


DETERMINERS = (
    Determiner("the", "the", "v"),
    Determiner("a", "some", "un"),
    Determiner("this", "these", "kest"),
    Determiner("every", None, "jod"),
    Determiner(None, "two", "dui", declines=False, universal="NUM"),
    Determiner(None, "three", "trai", declines=False, universal="NUM"),
    Determiner("no", "no", "nil"),
)

# A preposition says by itself what its phrase belongs to: there is no attachment ambiguity.
OF_NOUNS = (
    Preposition("of", "de", "dat"),
    Preposition("from", "ab", "dat"),
    Preposition("with", "kum", "dat"),
    Preposition("near", "apu", "acc"),
    Preposition("without", "sanu", "acc"),
)
OF_VERBS = (
    Preposition("in", "en", "dat"),
    Preposition("behind", "post", "acc"),
    Preposition("through", "tra", "acc"),
    Preposition("before", "prei", "dat"),
    Preposition("outside", "ekst", "acc"),
)
CONJUNCTIONS = (
    Word("when", "kand"),
    Word("because", "pork"),
    Word("while", "dum"),
    Word("although", "obgal"),
)
MODALS = (Word("will", "vol"), Word("must", "dev"), Word("can", "pot"))
AND = Word("and", "ed")
THAT = Word("that", "ke")
TO = Word("to", "")
RELATIVE_STEM = "kv"


def determiner_ending(agreement: str, case: str) -> str:
    """Return the ending of determiners and relative pronouns for a gender or `plural`, and a case."""
    return _DETERMINER[agreement][_CASES.index(case)]


def adjective_ending(agreement: str, case: str) -> str:
    """Return the ending of adjectives for a gender or `plural`, and a case."""
    return _ADJECTIVE[agreement][_CASES.index(case)]


def modal_form(modal: Word, plural: bool) -> str:
    """Return the finite target form of a modal."""
    return modal.target + ("unt" if plural else "et")
