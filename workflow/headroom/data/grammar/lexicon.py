"""Words with their inflection in both languages, looked up by topic.

The source language inflects nouns for number and verbs for tense and number as English does. The invented
target language has three genders and three cases; articles and adjectives agree with their noun.
"""

from dataclasses import dataclass
from functools import cache

from headroom.data.grammar import vocabulary

TOPICS = ("shared", "near", "far")
"""Words of every domain, words that mark the near domain, words that mark the far domain."""

_PLURAL = {"m": "en", "f": "as", "n": "ur"}
_FINITE = {("present", False): "it", ("present", True): "int", ("past", False): "ov", ("past", True): "oven"}


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


BE = Copula("be", "es")


def with_s(word: str) -> str:
    """Return an English word with the ending of plural nouns or of verbs in the present singular."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


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
    table: dict[str, str] = getattr(vocabulary, kind.upper())
    pairs = (entry.split("=") for entry in table[topic].split())
    return [(word, rest) for word, rest in pairs]
