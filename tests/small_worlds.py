"""Is a sentence of the grammar true in a small world? An oracle for entailment that is independent of edits.

A world has three things of every noun. `the` and `this` mean the first of them, or all three in the plural. What
adjectives, adverbs and prepositional phrases say is a fact or not; a clause is true if an event of the world fits it.
Quantifiers take scope from left to right. Words that exclude each other are never both true.
"""

import random
from itertools import product

from headroom.data.grammar import source
from headroom.data.grammar.tree import Coordination, Name, NounPhrase, PrepositionalPhrase, Sentence, Subordinate

COUNT = 3
EXCLUSIVE_ADJECTIVES = [
    {"red", "black", "green"}, {"old", "young"}, {"old", "new"}, {"small", "big"}, {"wooden", "golden"},
    {"secret", "famous"},
]  # fmt: skip
EXCLUSIVE_PLACES = [{"in", "outside"}, {"before", "behind"}]
EXCLUSIVE_EVENTS = [
    {"push", "pull"}, {"attack", "defend"}, {"accuse", "defend"}, {"arrive", "depart"}, {"wait", "arrive"},
    {"wait", "depart"}, {"arrive", "vanish"}, {"wait", "vanish"},
    *({"snore", verb} for verb in ["laugh", "talk", "dance", "work", "stumble", "limp", "protest", "depart", "arrive"]),
    *({f"be {word}" for word in words} for words in EXCLUSIVE_ADJECTIVES),
]  # fmt: skip


class World:
    """Facts drawn at random about what two sentences mention."""

    def __init__(self, sentences, seed):
        self.random = random.Random(seed)
        self.density = self.random.choice((0.05, 0.3, 0.7, 0.97))
        self.facts = {}
        self.events = []
        for clause in [clause for sentence in sentences for clause in clauses(sentence)]:
            self._happen(*clause)
        self.random.shuffle(self.events)
        self.events = [event for place, event in enumerate(self.events) if self._fits(event, self.events[:place])]

    def holds(self, *fact):
        """Return whether a fact holds; one of a group of exclusive adjectives at most does."""
        if fact not in self.facts:
            rivals = [w for group in EXCLUSIVE_ADJECTIVES if fact[0] in group for w in group if w != fact[0]]
            self.facts[fact] = not any(
                self.holds(rival, *fact[1:]) for rival in rivals if (rival, *fact[1:]) in self.facts
            )
            self.facts[fact] &= self.random.random() < 0.7
        return self.facts[fact]

    def _happen(self, clause, places, adverbs, gap):
        """Let some events of a clause's kind happen, between things of its nouns."""
        roles = [
            gap if nominal is None else words(nominal) for nominal in (clause.subject, clause.object, clause.recipient)
        ]
        roles = [[(word, number) for word in role for number in range(COUNT)] or [None] for role in roles]
        for who in product(*roles):
            if self.random.random() < self.density:
                where = {
                    (p.preposition.word, (word, n)) for p in places for word in words(p.nominal) for n in range(COUNT)
                }
                where = {place for place in sorted(where) if self.random.random() < 0.8}
                how = {adverb for adverb in adverbs if self.random.random() < 0.7}
                self.events.append((kind(clause), who, where, how))

    def _fits(self, event, others):
        """Return whether an event is compatible with others; merely possible events exclude nothing."""
        (modal, verb, _), (subject, *rest), where, _ = event
        if modal == "can":
            return True
        for (modal_, verb_, _), (subject_, *rest_), where_, _ in [event, *others]:
            if modal_ == "can" or subject_ != subject:
                continue
            if any(verb != verb_ and {verb, verb_} <= group for group in EXCLUSIVE_EVENTS) and rest == rest_:
                return False
            for place, other in product(where, where_):
                if place[1] == other[1] and any(
                    place[0] != other[0] and {place[0], other[0]} <= group for group in EXCLUSIVE_PLACES
                ):
                    return False
        return True


def is_true(sentence, world):
    """Return whether a sentence is true in a world."""
    adverbs = [item.word for item in (sentence.fronted,) if item is not None and hasattr(item, "word")]
    places = [item for item in (sentence.fronted,) if isinstance(item, PrepositionalPhrase)]
    joined = [item for item in (sentence.fronted, sentence.trailing) if isinstance(item, Subordinate)]
    assert all(one.conjunction.word in ("because", "although") for one in joined)
    return all(_clause(one.clause, world, [], [], {}) for one in joined) and _clause(
        sentence.clause, world, adverbs, places, {}
    )


def _clause(clause, world, adverbs, places, gap):
    """Return whether a clause is true; `gap` gives what a relative pronoun stands for, by its role."""
    presupposed = (clause.subject, clause.object, clause.recipient, clause.oblique and clause.oblique.nominal)
    if not all(_presupposition(nominal, world) for nominal in (*presupposed, *(place.nominal for place in places))):
        return False
    adverbs = [*adverbs, *([clause.adverb.word] if clause.adverb else [])]
    places = [*places, *([clause.oblique] if clause.oblique else [])]
    never, adverbs = "never" in adverbs, [adverb for adverb in adverbs if adverb != "never"]

    def happens(subject):
        return _any_event(clause, world, adverbs, places, {**gap, "subject": subject})

    return _for(clause.subject, world, gap.get("subject"), lambda subject: happens(subject) != never)


def _any_event(clause, world, adverbs, places, known):
    def fits(event, who):
        label, actors, where, how = event
        return (
            label == kind(clause)
            and actors == who
            and all(adverb in how for adverb in adverbs)
            and all(_for(p.nominal, world, None, lambda x, p=p: (p.preposition.word, x) in where) for p in places)
        )

    return _for(clause.object, world, known.get("object"), lambda thing:
        _for(clause.recipient, world, None, lambda receiver:
            any(fits(event, (known["subject"], thing, receiver)) for event in world.events)))  # fmt: skip


def _for(nominal, world, known, says):
    """Return whether a predicate holds for a nominal: for the first, all, some, two, three or none of its kind."""
    match nominal:
        case None:
            return says(known)
        case Name(spelling):
            return says((spelling, 0))
        case Coordination(first, second):
            return _for(first, world, None, says) and _for(second, world, None, says)
    things = [(nominal.noun.word, number) for number in range(COUNT)]
    determiner = nominal.determiner.singular or nominal.determiner.plural
    if determiner in ("the", "this"):
        return all(says(thing) for thing in (things if nominal.plural else things[:1]))
    fitting = [thing for thing in things if _described(nominal, thing, world)]
    count = sum(bool(says(thing)) for thing in fitting)
    return {
        "every": bool(fitting) and count == len(fitting), "no": count == 0, "a": count >= 1, "two": count >= 2,
        "three": count >= 3,
    }[determiner]  # fmt: skip


def _presupposition(nominal, world):
    """Return whether what a definite phrase takes for granted holds."""
    if isinstance(nominal, Coordination):
        return _presupposition(nominal.first, world) and _presupposition(nominal.second, world)
    if not isinstance(nominal, NounPhrase) or (nominal.determiner.singular or "") not in ("the", "this"):
        return True
    numbers = range(COUNT if nominal.plural else 1)
    return all(_described(nominal, (nominal.noun.word, number), world) for number in numbers)


def _described(phrase, thing, world):
    """Return whether a thing is as the adjectives, the prepositional phrase and the relative clause of a phrase say."""
    if not all(world.holds(adjective.word, thing) for adjective in phrase.adjectives):
        return False
    if phrase.modifier is not None:
        preposition = phrase.modifier.preposition.word
        near = "with" if preposition == "without" else preposition
        nominal = phrase.modifier.nominal
        related = _for(nominal, world, None, lambda other: world.holds(near, thing, other))
        if not _presupposition(nominal, world) or related == (preposition == "without"):
            return False
    return phrase.relative is None or _clause(phrase.relative.clause, world, [], [], {phrase.relative.role: thing})


def kind(clause):
    """Return the properties of events that match a clause: modal, verb, and content if any."""
    verb = f"be {clause.predicate.word}" if clause.predicate else clause.verb.word
    said = None if clause.content is None else source.text(source.realise(Sentence(clause.content)))
    return (clause.modal and clause.modal.word, verb, said)


def words(nominal):
    """Return the nouns and names that a nominal is about."""
    match nominal:
        case None:
            return []
        case Coordination(first, second):
            return [*words(first), *words(second)]
        case Name(spelling):
            return [spelling]
    return [nominal.noun.word]


def clauses(sentence):
    """Return every clause outside content clauses: with its places, adverbs and the nouns that its gap stands for."""
    fronted = sentence.fronted
    places = [fronted] if isinstance(fronted, PrepositionalPhrase) else []
    adverbs = [fronted.word] if hasattr(fronted, "word") else []
    found = [(sentence.clause, places, adverbs, [])]
    found += [(one.clause, [], [], []) for one in (fronted, sentence.trailing) if isinstance(one, Subordinate)]
    for clause, *_ in list(found):
        for nominal in (clause.subject, clause.object):
            if isinstance(nominal, NounPhrase) and nominal.relative is not None:
                found.append((nominal.relative.clause, [], [], [nominal.noun.word]))
    return [
        (
            clause,
            [*places, *([clause.oblique] if clause.oblique else [])],
            [*adverbs, *([clause.adverb.word] if clause.adverb and clause.adverb.word != "never" else [])],
            gap,
        )
        for clause, places, adverbs, gap in found
    ]
