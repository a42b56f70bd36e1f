"""Random sentences: a domain and a seed always give the same sentences in the same order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import TypeVar

from headroom.data.grammar import lexicon, tree


@dataclass(frozen=True)
class Domain:
    """The probabilities of a domain; the last field is the maximum length.

    `own` and `other` are the shares of words of the domain's own topic and of the other domain's topic; the
    rest are shared words. So the words of the far domain are known from training, but rare there.
    """

    topic: str
    own: float
    other: float
    name: float
    plural: float
    adjective: float
    modifier: float
    relative: float
    coordination: float
    modal: float
    past: float
    copula: float
    adverb: float
    late: float
    oblique: float
    fronted: float
    fronted_clause: float
    trailing_clause: float
    saying: float
    pronoun: float
    passive: float
    particle: float
    compound: float
    longest: int


NEAR = Domain(
    topic="near", own=0.55, other=0.10, name=0.06, plural=0.35, adjective=0.26, modifier=0.16, relative=0.18,
    coordination=0.04, modal=0.15, past=0.60, copula=0.15, adverb=0.20, late=0.35, oblique=0.08, fronted=0.28,
    fronted_clause=0.12, trailing_clause=0.24, saying=0.05, pronoun=0.60, passive=0.30, particle=0.55, compound=0.28,
    longest=16,
)  # fmt: skip
FAR = Domain(
    topic="far", own=0.50, other=0.10, name=0.12, plural=0.50, adjective=0.36, modifier=0.20, relative=0.28,
    coordination=0.08, modal=0.25, past=0.70, copula=0.10, adverb=0.26, late=0.35, oblique=0.16, fronted=0.24,
    fronted_clause=0.18, trailing_clause=0.26, saying=0.14, pronoun=0.60, passive=0.35, particle=0.50, compound=0.30,
    longest=25,
)  # fmt: skip
DOMAINS = {domain.topic: domain for domain in (NEAR, FAR)}

Item = TypeVar("Item")

_PEOPLE = ("persons", "animals")
_NOUNS = (*_PEOPLE, "things", "places")
_MOST_ADJECTIVES = 3
_DETERMINER_WEIGHTS = (10, 5, 2, 1, 1, 1, 1)


class Sampler:
    """Draws sentences of a domain."""

    def __init__(self, *, domain: Domain, seed: str):
        self._domain = domain
        self._random = random.Random(seed)

    def sentences(self) -> Iterator[tree.Sentence]:
        """Yield sentences indefinitely."""
        while True:
            yield self._sentence()

    def _sentence(self) -> tree.Sentence:
        domain = self._domain
        clause = self._clause(embedded=False)
        topic = tree.agreement(clause.topic) if clause.topic is not None else ""
        fronted: lexicon.Plain | tree.PrepositionalPhrase | tree.Subordinate | None = None
        if self._chance(domain.fronted_clause):
            fronted = self._subordinate(topic)
        elif self._chance(domain.fronted):
            fronted = self._adverb() if self._chance(0.5) else self._oblique()
        trailing = None
        if clause.content is None and fronted is None and self._chance(domain.trailing_clause):
            trailing = self._subordinate(topic)
        return tree.Sentence(clause, fronted, trailing)

    def _subordinate(self, topic: str) -> tree.Subordinate:
        """Return an adverbial clause in a sentence whose grammatical subject has this agreement."""
        subject = tree.Pronoun(topic) if self._chance(self._domain.pronoun) else None
        return tree.Subordinate(self._zipf(lexicon.CONJUNCTIONS), self._clause(embedded=True, subject=subject))

    def _clause(self, *, embedded: bool, subject: tree.Nominal | None = None) -> tree.Clause:
        """Return a clause, with a new subject if none is given.

        An embedded one has no relative clauses and no content clause.
        """
        if not embedded and self._chance(self._domain.saying):
            return self._saying()
        given = subject is not None
        subject = subject or self._nominal(_PEOPLE, relative=not embedded)
        if self._chance(self._domain.copula):
            bare = tree.Clause(lexicon.BE, subject, predicate=self._adjective(), adverb=self._maybe_adverb())
            return self._tensed(bare)
        clause = self._with_objects(tree.Clause(lexicon.BE, subject), relative=not embedded)
        clause = clause if given else self._maybe_passive(clause)
        if not tree.ends_in_clause(clause.last) and self._chance(self._domain.oblique):
            clause = replace(clause, oblique=self._oblique())
        clause = self._tensed(replace(clause, adverb=self._maybe_adverb()))
        late = clause.adverb is not None and not tree.ends_in_clause(clause.last) and self._chance(self._domain.late)
        return replace(clause, late=late)

    def _maybe_passive(self, clause: tree.Clause) -> tree.Clause:
        passive = clause.object is not None and clause.recipient is None and self._chance(self._domain.passive)
        return replace(clause, passive=passive)

    def _saying(self) -> tree.Clause:
        verb = self._verb("clausal")
        subject = self._nominal(("persons",), relative=True)
        return self._tensed(tree.Clause(verb, subject, content=self._clause(embedded=True)))

    def _with_objects(self, clause: tree.Clause, *, relative: bool) -> tree.Clause:
        kind = self._random.choices(("transitive", "intransitive", "ditransitive"), (68, 24, 8))[0]
        clause = replace(clause, verb=self._verb(kind))
        if kind == "transitive":
            particle = self._maybe_particle(clause.verb)
            thing = self._nominal((*_PEOPLE, "things"), relative=relative and not particle)
            return replace(clause, object=thing, particle=particle)
        if kind == "ditransitive":
            thing = self._noun_phrase(("things",), relative=False)
            return replace(clause, object=thing, recipient=self._simple(_PEOPLE))
        return clause

    def _maybe_particle(self, verb: lexicon.Verb) -> str:
        particles = lexicon.list_particle_stems().get(verb.word)
        return self._zipf([*particles]) if particles and self._chance(self._domain.particle) else ""

    def _tensed(self, clause: tree.Clause) -> tree.Clause:
        if self._chance(self._domain.modal):
            return replace(clause, modal=self._zipf(lexicon.MODALS))
        return replace(clause, tense="past" if self._chance(self._domain.past) else "present")

    def _nominal(self, kinds: Sequence[str], *, relative: bool) -> tree.Nominal:
        if self._chance(self._domain.coordination):
            return tree.Coordination(self._simple(kinds), self._simple(kinds))
        if kinds[0] == "persons" and self._chance(self._domain.name):
            return self._name("person")
        return self._noun_phrase(kinds, relative=relative)

    def _simple(self, kinds: Sequence[str]) -> tree.NounPhrase | tree.Name:
        """Return a name or a noun phrase without postmodifiers."""
        if kinds[0] == "persons" and self._chance(self._domain.name):
            return self._name("person")
        return self._bare(kinds)

    def _bare(self, kinds: Sequence[str]) -> tree.NounPhrase:
        kind = self._random.choice(kinds)
        noun = self._noun(kind)
        plural = self._chance(self._domain.plural)
        determiner = self._random.choices(lexicon.DETERMINERS, _DETERMINER_WEIGHTS)[0]
        while determiner.source(plural) is None:
            determiner = self._random.choices(lexicon.DETERMINERS, _DETERMINER_WEIGHTS)[0]
        adjectives: tuple[lexicon.Plain, ...] = ()
        while len(adjectives) < _MOST_ADJECTIVES and self._chance(self._domain.adjective):
            adjective = self._adjective()
            adjectives += () if adjective in adjectives else (adjective,)
        compound = self._noun(self._random.choice(_NOUNS)) if self._chance(self._domain.compound) else None
        return tree.NounPhrase(noun, determiner, plural, adjectives, compound=None if compound == noun else compound)

    def _noun_phrase(self, kinds: Sequence[str], *, relative: bool) -> tree.NounPhrase:
        phrase = self._bare(kinds)
        if self._chance(self._domain.modifier):
            phrase = replace(phrase, modifier=self._modifier())
        if relative and self._chance(self._domain.relative):
            phrase = replace(phrase, relative=self._relative(phrase))
        return phrase

    def _modifier(self) -> tree.PrepositionalPhrase:
        preposition = self._zipf(lexicon.OF_NOUNS)
        if preposition.word == "from":
            return tree.PrepositionalPhrase(preposition, self._place())
        return tree.PrepositionalPhrase(preposition, self._simple(("persons", "animals", "things")))

    def _relative(self, phrase: tree.NounPhrase) -> tree.Relative:
        """Return a relative clause on a noun phrase, with the gap for its pronoun."""
        if self._chance(0.6):
            verb = self._verb("transitive")
            clause = tree.Clause(verb, self._nominal(_PEOPLE, relative=False), particle=self._maybe_particle(verb))
            clause = replace(clause, adverb=self._maybe_adverb(), passive=self._chance(self._domain.passive))
            return tree.Relative("object", self._tensed(clause))
        clause = self._with_objects(tree.Clause(lexicon.BE, None, gap=tree.agreement(phrase)), relative=False)
        return tree.Relative("subject", self._tensed(replace(clause, adverb=self._maybe_adverb())))

    def _oblique(self) -> tree.PrepositionalPhrase:
        return tree.PrepositionalPhrase(self._zipf(lexicon.OF_VERBS), self._place())

    def _place(self) -> tree.NounPhrase | tree.Name:
        return self._name("town") if self._chance(self._domain.name) else self._bare(("places",))

    def _name(self, kind: str) -> tree.Name:
        return tree.Name(self._zipf(lexicon.names(kind)))

    def _noun(self, kind: str) -> lexicon.Noun:
        return self._word([lexicon.nouns(kind, topic) for topic in lexicon.TOPICS])

    def _verb(self, kind: str) -> lexicon.Verb:
        return self._word([lexicon.verbs(kind, topic) for topic in lexicon.TOPICS])

    def _adjective(self) -> lexicon.Plain:
        return self._word([lexicon.plain("adjectives", topic) for topic in lexicon.TOPICS])

    def _adverb(self) -> lexicon.Plain:
        return self._word([lexicon.plain("adverbs", topic) for topic in lexicon.TOPICS])

    def _maybe_adverb(self) -> lexicon.Plain | None:
        return self._adverb() if self._chance(self._domain.adverb) else None

    def _word(self, by_topic: Sequence[Sequence[Item]]) -> Item:
        """Return a word: first its topic by the domain's shares, then by Zipf frequency within it."""
        shares = {"shared": 1 - self._domain.own - self._domain.other, self._domain.topic: self._domain.own}
        weights = [shares.get(topic, self._domain.other) for topic in lexicon.TOPICS]
        return self._zipf(self._random.choices(by_topic, weights)[0])

    def _zipf(self, items: Sequence[Item]) -> Item:
        return self._random.choices(items, cum_weights=_zipf_weights(len(items)))[0]

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability


@cache
def _zipf_weights(count: int) -> tuple[float, ...]:
    """Return cumulative Zipf weights: the item of rank r has weight 1/r."""
    return tuple(accumulate(1 / rank for rank in range(1, count + 1)))
