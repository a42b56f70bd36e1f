"""The content of a sentence without word order, shared by both languages.

The two realisations (`source`, `target`) read the same tree, so a sentence and its translation agree by
construction. A tree is unambiguous by its parts: prepositions belong to nouns or to verbs, adverbs precede
their verb or open the sentence, and an oblique never follows a relative clause.
"""

from dataclasses import dataclass

from headroom.data.grammar.lexicon import Determiner, Noun, Plain, Preposition, Verb, Word


@dataclass(frozen=True)
class Name:
    """A person or town by name."""

    spelling: str


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and modifiers; `compound` is a noun before it, as in `the garden dogs`."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjectives: tuple[Plain, ...] = ()
    modifier: "PrepositionalPhrase | None" = None
    relative: "Relative | None" = None
    compound: Noun | None = None


@dataclass(frozen=True)
class Coordination:
    """Two nominals joined by `and`; a plural subject."""

    first: "NounPhrase | Name"
    second: "NounPhrase | Name"


@dataclass(frozen=True)
class Pronoun:
    """The subject of an adverbial clause: the grammatical subject of the main clause, with its agreement."""

    agrees: str


Nominal = NounPhrase | Name | Coordination | Pronoun


@dataclass(frozen=True)
class PrepositionalPhrase:
    """A preposition with its nominal."""

    preposition: Preposition
    nominal: NounPhrase | Name


@dataclass(frozen=True)
class Clause:
    """A verb with its arguments.

    `object`, `recipient`, `predicate` (with the copula) and `content` (with verbs of saying) depend on the
    verb. In a relative clause the argument of the pronoun is None; if it is the subject,
    `gap` is the noun phrase's agreement: a gender (m, f, n) or `plural`. `passive` and `late`, an adverb at the end
    of the clause, change only the source language: `subject` is who acts in the passive too.
    """

    verb: Verb
    subject: Nominal | None
    tense: str = "present"
    modal: Word | None = None
    object: Nominal | None = None
    recipient: NounPhrase | Name | None = None
    predicate: Plain | None = None
    content: "Clause | None" = None
    adverb: Plain | None = None
    oblique: PrepositionalPhrase | None = None
    gap: str = ""
    particle: str = ""
    passive: bool = False
    late: bool = False

    @property
    def agreement(self) -> str:
        """The agreement of the verb and the predicate: the subject's gender, or `plural`."""
        return self.gap if self.subject is None else agreement(self.subject)

    @property
    def topic(self) -> Nominal | None:
        """The grammatical subject in the source language: the object of a passive; None for a relative pronoun."""
        return self.object if self.passive else self.subject

    @property
    def last(self) -> Nominal | None:
        """The argument after the verb in the source language, None without one."""
        return self.subject if self.passive else self.object


@dataclass(frozen=True)
class Relative:
    """A relative clause; the pronoun is its `subject` or its `object`."""

    role: str
    clause: Clause


@dataclass(frozen=True)
class Subordinate:
    """An adverbial clause with its conjunction."""

    conjunction: Word
    clause: Clause


@dataclass(frozen=True)
class Sentence:
    """A main clause, its fronted part, and an adverbial clause after it."""

    clause: Clause
    fronted: Plain | PrepositionalPhrase | Subordinate | None = None
    trailing: Subordinate | None = None


def agreement(nominal: Nominal) -> str:
    """Return the agreement of other words: the gender of a singular (m, f, n), or `plural`."""
    match nominal:
        case Coordination():
            return "plural"
        case Name(spelling):
            return "f" if spelling.endswith("a") else "m"
        case NounPhrase(noun, _, plural):
            return "plural" if plural else noun.gender
        case Pronoun(agrees):
            return agrees


def ends_in_clause(nominal: Nominal | None) -> bool:
    """Return whether a nominal ends in a relative clause, to which later words would attach."""
    return isinstance(nominal, NounPhrase) and nominal.relative is not None
