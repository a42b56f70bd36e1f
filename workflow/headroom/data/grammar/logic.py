"""Entailment: mutually exclusive words, and positions in which more words make a sentence stronger or weaker.

A position is upward monotone (+1) if more words strengthen the sentence ("a hungry dog barks" entails "a dog barks"),
downward monotone (-1) if they weaken it ("no dog barks" entails "no hungry dog barks"), and 0 if the sentence has
several readings. This is the monotonicity of natural logic (MacCartney and Manning 2009, "An extended model of natural
logic"). Scope is read from left to right; definite noun phrases have no scope.
"""

from dataclasses import replace
from functools import cache
from typing import Any, Literal

from headroom.data.grammar import lexicon
from headroom.data.grammar.lexicon import Plain
from headroom.data.grammar.tree import Coordination, Name, Nominal, NounPhrase, PrepositionalPhrase, Sentence

Role = Literal["subject", "object", "recipient", "oblique"]
Negation = Literal["", "never", "subject", "object"]

ROLES: tuple[Role, ...] = ("subject", "object", "recipient", "oblique")
THE, A, THIS, EVERY, TWO, THREE, NO = lexicon.DETERMINERS
DEFINITE = (THE, THIS)
NEVER = next(adverb for adverb in lexicon.plain("adverbs", "shared") if adverb.word == "never")

_EXCLUSIVE = """
    red black green, old young, old new, small big, wooden golden, secret famous, in outside, before behind,
    with without, arrive depart wait, arrive vanish, wait vanish, push pull, attack defend, accuse defend,
    snore laugh, snore talk, snore dance, snore work, snore stumble, snore limp, snore protest, snore depart,
    snore arrive
"""
_RELATED = """
    gather collect, wash clean, watch inspect examine, follow chase, offer show pass toss deliver return entrust,
    protest talk, depart vanish, accuse attack, young new, big fat, bird hen gull parrot, room kitchen cabin,
    house barn palace cabin, garden orchard, street village town market, contract treaty, captain sailor soldier
"""
_NOUN_KINDS = ("persons", "animals", "things", "places")
_VERB_KINDS = ("transitive", "intransitive", "ditransitive", "clausal")


def exclusive(word: str) -> tuple[str, ...]:
    """Return the words that are incompatible with this one, for the same thing at the same time."""
    return _partners(_EXCLUSIVE).get(word, ())


def are_unrelated(word: str, other: str) -> bool:
    """Return whether two words are logically independent: compatible, without entailment."""
    return word != other and other not in exclusive(word) and other not in _partners(_RELATED).get(word, ())


@cache
def noun_kind(noun: lexicon.Noun) -> str:
    """Return the table that a noun is in: persons, animals, things or places."""
    return next(kind for kind in _NOUN_KINDS for topic in lexicon.TOPICS if noun in lexicon.nouns(kind, topic))


@cache
def verb_kind(verb: lexicon.Verb) -> str:
    """Return the table that a verb is in: transitive, intransitive, ditransitive, clausal; `copula` for `be`."""
    found = (kind for kind in _VERB_KINDS for topic in lexicon.TOPICS if verb in lexicon.verbs(kind, topic))
    return next(found, "copula")


@cache
def adjective(word: str) -> Plain:
    """Return an adjective of the lexicon by its source word."""
    return next(one for topic in lexicon.TOPICS for one in lexicon.plain("adjectives", topic) if one.word == word)


@cache
def verb(word: str) -> lexicon.Verb:
    """Return a verb of the lexicon by its source word."""
    tables = (lexicon.verbs(kind, topic) for kind in _VERB_KINDS for topic in lexicon.TOPICS)
    return next(one for table in tables for one in table if one.word == word)


@cache
def _partners(groups: str) -> dict[str, tuple[str, ...]]:
    """Return for each word the other words of its groups, in the order of the groups."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups.split(","):
        for word in group.split():
            found[word] = found.get(word, ()) + tuple(other for other in group.split() if other != word)
    return found


def nominal_at(sentence: Sentence, role: Role) -> Nominal | None:
    """Return the nominal of the main clause in this role; that of `oblique` follows its preposition."""
    found: Any = getattr(sentence.clause, role)
    return found.nominal if isinstance(found, PrepositionalPhrase) else found


def phrases(sentence: Sentence) -> dict[Role, NounPhrase]:
    """Return the noun phrases of the main clause by their role, without names and coordinations."""
    found = {role: nominal_at(sentence, role) for role in ROLES}
    return {role: nominal for role, nominal in found.items() if isinstance(nominal, NounPhrase)}


def descriptions(sentence: Sentence, role: Role) -> tuple[Plain, ...]:
    """Return the adjectives of the noun phrase in this role, the predicate with those of the subject."""
    phrase, predicate = phrases(sentence).get(role), sentence.clause.predicate
    return (*(phrase.adjectives if phrase else ()), *((predicate,) if predicate and role == "subject" else ()))


def with_clause(sentence: Sentence, **parts: Any) -> Sentence:
    """Return the sentence with other parts of its main clause."""
    return replace(sentence, clause=replace(sentence.clause, **parts))


def with_nominal(sentence: Sentence, role: Role, nominal: Nominal) -> Sentence:
    """Return the sentence with another nominal in a role that it has."""
    if role != "oblique":
        return with_clause(sentence, **{role: nominal})
    assert sentence.clause.oblique is not None, "the sentence has this role"
    assert isinstance(nominal, NounPhrase | Name), "a preposition has one noun phrase or name"
    return with_clause(sentence, oblique=replace(sentence.clause.oblique, nominal=nominal))


def with_phrase(sentence: Sentence, role: Role, **parts: Any) -> Sentence:
    """Return the sentence with other parts of the noun phrase in a role."""
    return with_nominal(sentence, role, replace(phrases(sentence)[role], **parts))


def is_definite(nominal: Nominal | None) -> bool:
    """Return whether a nominal refers to known persons or things: a name, or a phrase with `the` or `this`."""
    match nominal:
        case Name():
            return True
        case NounPhrase(_, determiner):
            return determiner in DEFINITE
        case Coordination(first, second):
            return is_definite(first) and is_definite(second)
    return False


def negation(sentence: Sentence) -> Negation:
    """Return the negations of the main clause: `never`, or `no` before its subject or object."""
    if sentence.clause.adverb == NEVER:
        return "never"
    for role, phrase in phrases(sentence).items():
        if phrase.determiner is NO and role in ("subject", "object"):
            return "subject" if role == "subject" else "object"
    return ""


def direction(sentence: Sentence, role: Role) -> int:
    """Return the monotonicity of the noun phrase in this role: +1, -1 or 0."""
    determiner = phrases(sentence)[role].determiner
    scope = 1 if role == "subject" else _scope_after_subject(sentence, role)
    if determiner in DEFINITE:
        return max(scope, 0)  # presuppositions of definite phrases under a negation are preserved
    if determiner is EVERY:
        return 0  # "every hungry dog" also presupposes that there is one
    return -scope if determiner is NO else scope


def event_direction(sentence: Sentence, part: str) -> int:
    """Return the monotonicity of an added `adverb` or `oblique`: +1, -1 or 0."""
    if part == "adverb":  # "often pulls no cart" does not contradict "often pulls a cart"
        return {"": 1, "subject": -1, "never": 0, "object": 0}[negation(sentence)]
    return -1 if negation(sentence) else 1


def is_plain(sentence: Sentence) -> bool:
    """Return whether the directions hold: one negation at most, `no` and `every` only before subject or object."""
    clause = sentence.clause
    adverbs = [item.word for item in (clause.adverb, sentence.fronted) if isinstance(item, Plain)]
    if "rarely" in adverbs or ("never" in adverbs and adverbs != ["never"]) or sentence.fronted == NEVER:
        return False
    negations = (clause.adverb == NEVER) + sum(phrase.determiner is NO for phrase in phrases(sentence).values())
    return negations <= 1 and all(is_simple(nominal) for nominal in _inner(sentence))


def is_simple(nominal: Nominal | None) -> bool:
    """Return whether no `no` or `every` is in a nominal, and none in its prepositional phrase."""
    match nominal:
        case NounPhrase(_, determiner, _, _, modifier):
            return determiner not in (EVERY, NO) and (modifier is None or is_simple(modifier.nominal))
        case Coordination(first, second):
            return is_simple(first) and is_simple(second)
    return True


def _scope_after_subject(sentence: Sentence, role: Role) -> int:
    denied = negation(sentence)
    if denied == "object":
        return 1 if role == "object" else 0
    return -1 if denied else 1


def _inner(sentence: Sentence) -> list[Nominal | None]:
    """Return the nominals that may have neither `no` nor `every`: all except the phrases of subject and object."""
    outer = (sentence.clause.subject, sentence.clause.object)
    inner: list[Nominal | None] = [nominal for nominal in outer if isinstance(nominal, Coordination)]
    inner += [one.modifier.nominal for one in outer if isinstance(one, NounPhrase) and one.modifier is not None]
    inner += [nominal_at(sentence, "recipient"), nominal_at(sentence, "oblique")]
    return [*inner, sentence.fronted.nominal if isinstance(sentence.fronted, PrepositionalPhrase) else None]
