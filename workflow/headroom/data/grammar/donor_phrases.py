"""Donor phrases: parts of other sentences of a domain, for insertion with the domain's frequencies."""

import random
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headroom.data.grammar import tree
from headroom.data.grammar.lexicon import CONJUNCTIONS, Noun, Plain, Verb
from headroom.data.grammar.logic import is_plain, is_simple, noun_kind, verb_kind
from headroom.data.grammar.sample import Domain, Sampler

FACTIVE = tuple(word for word in CONJUNCTIONS if word.word in ("because", "although"))
"""Conjunctions of clauses that are true whenever the whole sentence is."""

_NOT_VERIDICAL = ("never", "rarely")


class DonorPhrases:
    """A store of parts of decomposed sentences.

    The same domain and seed give the same parts, if they are requested in the same order.
    """

    def __init__(self, *, domain: Domain, seed: str):
        rich = replace(domain, adjective=0.4, modifier=0.4, relative=0.4, adverb=0.4, oblique=0.6, saying=0.1)
        short = replace(domain, relative=0.0, saying=0.0)
        self._rich = Sampler(domain=rich, seed=f"{seed} parts").sentences()
        self._short = Sampler(domain=short, seed=f"{seed} clauses").sentences()
        self._store: defaultdict[str, deque[Any]] = defaultdict(deque)
        self.random = random.Random(f"{seed} choices of parts")

    def adjective(self) -> Plain:
        """Return an adjective."""
        return self._next("adjective")

    def adverb(self) -> Plain:
        """Return an adverb that preserves the truth of the sentence without it: neither `never` nor `rarely`."""
        return self._next("adverb")

    def oblique(self) -> tree.PrepositionalPhrase:
        """Return a phrase with the location of a clause, without `no` and `every`."""
        return self._next("oblique")

    def modifier(self) -> tree.PrepositionalPhrase:
        """Return a prepositional phrase that follows a noun, without `no` and `every`."""
        return self._next("modifier")

    def relative(self, phrase: tree.NounPhrase) -> tree.Relative:
        """Return a relative clause that agrees with a noun phrase."""
        relative: tree.Relative = self._next("relative")
        gap = tree.agreement(phrase) if relative.role == "subject" else ""
        return replace(relative, clause=replace(relative.clause, gap=gap))

    def saying(self) -> tree.Clause:
        """Return a clause with a verb of saying; its content clause is to be replaced."""
        return self._next("saying")

    def noun(self, kind: str) -> Noun:
        """Return a noun of a kind: persons, animals, things or places."""
        return self._next(kind)

    def verb(self, kind: str) -> Verb:
        """Return a verb of a kind: transitive, intransitive, ditransitive or clausal."""
        return self._next(kind)

    def clause(self) -> tree.Clause:
        """Return a clause without a clause in it and with one negation at most."""
        return next(sentence.clause for sentence in self._short if is_plain(sentence))

    def subordinate(self) -> tree.Subordinate:
        """Return a clause with `because` or `although`."""
        return tree.Subordinate(self.random.choice(FACTIVE), self.clause())

    def conjunct(self) -> tree.NounPhrase | tree.Name:
        """Return a person or animal that nothing follows, without `no` and `every`."""
        subjects = (sentence.clause.subject for sentence in self._short)
        nominal = next(one for one in subjects if isinstance(one, tree.NounPhrase | tree.Name) and is_simple(one))
        return replace(nominal, modifier=None) if isinstance(nominal, tree.NounPhrase) else nominal

    def _next(self, kind: str) -> Any:
        """Return the oldest part of a kind, after decomposing sentences as needed."""
        while not self._store[kind]:
            for found, part in _parts(next(self._rich)):
                self._store[found].append(part)
        return self._store[kind].popleft()


def _parts(sentence: tree.Sentence) -> Iterator[tuple[str, Any]]:
    clause = sentence.clause
    for phrase in _noun_phrases(clause):
        yield noun_kind(phrase.noun), phrase.noun
        yield from (("adjective", adjective) for adjective in phrase.adjectives)
        if phrase.modifier is not None and is_simple(phrase.modifier.nominal):
            yield "modifier", phrase.modifier
        if phrase.relative is not None:
            yield "relative", phrase.relative
    if clause.adverb is not None and clause.adverb.word not in _NOT_VERIDICAL:
        yield "adverb", clause.adverb
    if clause.oblique is not None and is_simple(clause.oblique.nominal):
        yield "oblique", clause.oblique
    if clause.content is not None and is_plain(sentence):
        yield "saying", clause
    yield verb_kind(clause.verb), clause.verb


def _noun_phrases(clause: tree.Clause) -> Iterator[tree.NounPhrase]:
    """Yield the noun phrases of a clause, those inside coordinations too."""
    place = None if clause.oblique is None else clause.oblique.nominal
    for nominal in (clause.subject, clause.object, clause.recipient, place):
        parts = (nominal.first, nominal.second) if isinstance(nominal, tree.Coordination) else (nominal,)
        yield from (part for part in parts if isinstance(part, tree.NounPhrase))
