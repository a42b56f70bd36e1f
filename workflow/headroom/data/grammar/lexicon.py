"""Words with their inflection in both languages: open classes by topic, closed classes, and names.

The source language inflects nouns for number and verbs for tense and number as English does. The invented
target language has three genders and three cases; articles and adjectives agree with their noun.
"""

import random
from dataclasses import dataclass
from functools import cache

from headroom.data.grammar import vocabulary

TOPICS = ("shared", "near", "far")
"""Words of every domain, words that mark the near domain, words that mark the far domain."""

_PLURAL = {"m": "en", "f": "as", "n": "ur"}
_FINITE = {("present", False): "it", ("present", True): "int", ("past", False): "ov", ("past", True): "oven"}

# One row per (gender or plural), one column per case. As in German, endings repeat across the table,
# so that an ending does not determine the case.
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
class Noun:
    """A noun: its source word, target stem and gender (m, f, n)."""

    word: str
    stem: str
    gender: str

    def source(self, plural: bool) -> str:
        """Return the source form."""
        return with_s(self.word) if plural else self.word

    def target(self, plural: bool) -> str:
        """Return the target form; the plural ending depends on the gender."""
        return self.stem + _PLURAL[self.gender] if plural else self.stem


@dataclass(frozen=True)
class Verb:
    """A verb: its source word, target stem and the case of its object in the target language."""

    word: str
    stem: str
    government: str = "acc"

    def source(self, tense: str, plural: bool) -> str:
        """Return the finite source form; only the present singular shows agreement."""
        if tense == "past":
            return self.word + ("d" if self.word.endswith("e") else "ed")
        return self.word if plural else with_s(self.word)

    def target(self, tense: str, plural: bool) -> str:
        """Return the finite target form, which agrees in number in both tenses."""
        return self.stem + _FINITE[tense, plural]

    @property
    def infinitive(self) -> str:
        """The target infinitive."""
        return self.stem + "are"


@dataclass(frozen=True)
class Copula(Verb):
    """The verb `be`, irregular in both languages."""

    def source(self, tense: str, plural: bool) -> str:
        """Return is, are, was or were."""
        return {"present": ("is", "are"), "past": ("was", "were")}[tense][plural]

    def target(self, tense: str, plural: bool) -> str:
        """Return the finite target form."""
        return {"present": ("est", "sent"), "past": ("var", "varen")}[tense][plural]


@dataclass(frozen=True)
class Plain:
    """An adjective or adverb: its source word and target stem."""

    word: str
    stem: str


@dataclass(frozen=True)
class Determiner:
    """A determiner: source words for singular and plural (None if missing) and the target stem."""

    singular: str | None
    plural: str | None
    stem: str
    declines: bool = True
    universal: str = "DET"

    def source(self, plural: bool) -> str | None:
        """Return the source word, or None if the determiner has no such form."""
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


BE = Copula("be", "es")
DETERMINERS = (
    Determiner("the", "the", "v"),
    Determiner("a", "some", "un"),
    Determiner("this", "these", "kest"),
    Determiner("every", None, "jod"),
    Determiner(None, "two", "dui", declines=False, universal="NUM"),
    Determiner(None, "three", "trai", declines=False, universal="NUM"),
    Determiner("no", "no", "nil"),
)

# The preposition determines the attachment of its phrase, which is therefore unambiguous.
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
CONJUNCTIONS = (Word("when", "kand"), Word("because", "pork"), Word("while", "dum"), Word("although", "obgal"))
MODALS = (Word("will", "vol"), Word("must", "dev"), Word("can", "pot"))
AND, THAT, TO = Word("and", "ed"), Word("that", "ke"), Word("to", "")
RELATIVE_STEM = "kv"


def with_s(word: str) -> str:
    """Return an English word with the ending of plural nouns or of verbs in the present singular."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def determiner_ending(agreement: str, case: str) -> str:
    """Return the ending of determiners and relative pronouns for a gender or `plural`, and a case."""
    return _DETERMINER[agreement][_CASES.index(case)]


def adjective_ending(agreement: str, case: str) -> str:
    """Return the ending of adjectives for a gender or `plural`, and a case."""
    return _ADJECTIVE[agreement][_CASES.index(case)]


def modal_form(modal: Word, plural: bool) -> str:
    """Return the finite target form of a modal."""
    return modal.target + ("unt" if plural else "et")


@cache
def nouns(kind: str, topic: str) -> tuple[Noun, ...]:
    """Return the nouns of a kind (persons, animals, things, places) and topic, the most frequent first."""
    return tuple(Noun(word, *rest.split(".")) for word, rest in _entries(kind, topic))


@cache
def verbs(kind: str, topic: str) -> tuple[Verb, ...]:
    """Return the verbs of a kind (transitive, intransitive, ditransitive, clausal) and topic."""
    return tuple(Verb(word, *rest.split(".")) for word, rest in _entries(kind, topic))


@cache
def plain(kind: str, topic: str) -> tuple[Plain, ...]:
    """Return the adjectives or adverbs of a topic."""
    return tuple(Plain(word, stem) for word, stem in _entries(kind, topic))


def _entries(kind: str, topic: str) -> list[tuple[str, str]]:
    pairs = (entry.split("=") for entry in vocabulary.TABLES[kind, topic])
    return [(word, rest) for word, rest in pairs]


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
    """Return a name in the target language's spelling: `Thewick` becomes `Tevik`.

    Two-letter groups are replaced before single letters, from left to right.
    """
    rest, spelt = name.lower(), ""
    while rest:
        size = 2 if rest[:2] in _LETTERS else 1
        spelt += _LETTERS.get(rest[:size], rest[:size])
        rest = rest[size:]
    return spelt.capitalize()
