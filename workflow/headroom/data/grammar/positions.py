"""Where a sentence can be made stronger or weaker: its noun phrases, and in which direction each of them works.

A position works upwards (+1) if more words there say more ("a hungry dog barks" entails "a dog barks"), downwards
(-1) if more words say less ("no dog barks" entails "no hungry dog barks"), and 0 where the sentence has several
readings. This is the monotonicity of natural logic (MacCartney and Manning 2009, "An extended model of natural
logic"). Scope is read from left to right; definite noun phrases take no part in it.
"""

from dataclasses import replace
from typing import Literal

from headroom.data.grammar.function_words import DETERMINERS
from headroom.data.grammar.lexicon import Plain, plain
from headroom.data.grammar.tree import Coordination, Name, Nominal, NounPhrase, PrepositionalPhrase, Sentence

Role = Literal["subject", "object", "recipient", "oblique"]
Negation = Literal["", "never", "subject", "object"]

ROLES: tuple[Role, ...] = ("subject", "object", "recipient", "oblique")
THE, A, THIS, EVERY, TWO, THREE, NO = DETERMINERS
DEFINITE = (THE, THIS)
NEVER = next(adverb for adverb in plain("adverbs", "shared") if adverb.word == "never")


def nominal_at(sentence: Sentence, role: Role) -> Nominal | None:
    """Return the nominal of the main clause in this role; that of `oblique` stands after its preposition."""
    clause = sentence.clause
    if role == "oblique":
        return None if clause.oblique is None else clause.oblique.nominal
    return {"subject": clause.subject, "object": clause.object, "recipient": clause.recipient}[role]


def phrases(sentence: Sentence) -> dict[Role, NounPhrase]:
    """Return the noun phrases of the main clause by their role; names and coordinations are none."""
    found = {role: nominal_at(sentence, role) for role in ROLES}
    return {role: nominal for role, nominal in found.items() if isinstance(nominal, NounPhrase)}


def with_nominal(sentence: Sentence, role: Role, nominal: Nominal) -> Sentence:
    """Return the sentence with another nominal in a role that it has."""
    clause = sentence.clause
    if role == "subject":
        return replace(sentence, clause=replace(clause, subject=nominal))
    if role == "object":
        return replace(sentence, clause=replace(clause, object=nominal))
    assert not isinstance(nominal, Coordination), "a preposition has one noun phrase or name"
    if role == "recipient":
        return replace(sentence, clause=replace(clause, recipient=nominal))
    assert clause.oblique is not None, "the sentence has this role"
    return replace(sentence, clause=replace(clause, oblique=replace(clause.oblique, nominal=nominal)))


def is_definite(nominal: Nominal | None) -> bool:
    """Return whether a nominal stands for known persons or things: a name, or a phrase with `the` or `this`."""
    match nominal:
        case Name():
            return True
        case NounPhrase(_, determiner):
            return determiner in DEFINITE
        case Coordination(first, second):
            return is_definite(first) and is_definite(second)
    return False


def negation(sentence: Sentence) -> Negation:
    """Return what denies the main clause: `never`, or `no` before its subject or object."""
    if sentence.clause.adverb == NEVER:
        return "never"
    for role, phrase in phrases(sentence).items():
        if phrase.determiner is NO and role in ("subject", "object"):
            return "subject" if role == "subject" else "object"
    return ""


def direction(sentence: Sentence, role: Role) -> int:
    """Return how the noun phrase in this role works on the sentence: +1, -1 or 0."""
    determiner = phrases(sentence)[role].determiner
    scope = 1 if role == "subject" else _scope_after_subject(sentence, role)
    if determiner in DEFINITE:
        return max(scope, 0)  # what a definite phrase presupposes under a negation is left alone
    if determiner is EVERY:
        return 0  # "every hungry dog" is more than "every dog" too: that there is one
    return -scope if determiner is NO else scope


def event_direction(sentence: Sentence, part: str) -> int:
    """Return how an added `adverb` or `oblique` works on the sentence: +1, -1 or 0."""
    if part == "adverb":  # "often pulls no cart" is not denied by "often pulls a cart"
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
    """Return the nominals that may have neither `no` nor `every`: all but the phrases of subject and object."""
    outer = (sentence.clause.subject, sentence.clause.object)
    inner: list[Nominal | None] = [nominal for nominal in outer if isinstance(nominal, Coordination)]
    inner += [one.modifier.nominal for one in outer if isinstance(one, NounPhrase) and one.modifier is not None]
    inner += [nominal_at(sentence, "recipient"), nominal_at(sentence, "oblique")]
    return [*inner, sentence.fronted.nominal if isinstance(sentence.fronted, PrepositionalPhrase) else None]
