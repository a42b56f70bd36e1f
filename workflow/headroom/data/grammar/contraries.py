"""Known edits that give a sentence which cannot be true together with the one edited.

Two sentences speak of the same things at the same time: a definite noun phrase with the same noun stands for the
same thing in both. Sentences about things that need not be the same ("a dog snores", "a dog never snores") are
not edited.
"""

from dataclasses import replace

from headroom.data.grammar import kinship
from headroom.data.grammar.edits import Edit
from headroom.data.grammar.function_words import OF_NOUNS, OF_VERBS, Preposition
from headroom.data.grammar.lexicon import Plain
from headroom.data.grammar.positions import (
    EVERY,
    NEVER,
    NO,
    THE,
    THIS,
    A,
    Role,
    is_definite,
    negation,
    phrases,
    with_nominal,
)
from headroom.data.grammar.tree import NounPhrase, PrepositionalPhrase, Sentence


def exclusions(sentence: Sentence) -> list[Edit]:
    """Return the edits that put a word for one which it excludes."""
    return [*_attributes(sentence), *_accompaniments(sentence), *_events(sentence)]


def denials(sentence: Sentence) -> list[Edit]:
    """Return the edits that deny what is said, or say what was denied."""
    match negation(sentence):
        case "":
            return [*_with_never(sentence), *_with_no(sentence)]
        case "never":
            return _without_never(sentence) if _is_known(sentence) else []
        case "subject":
            return _without_no(sentence, "subject")
        case "object":
            return _without_no(sentence, "object") if _has_one_event(sentence) else []


def _is_known(sentence: Sentence) -> bool:
    """Return whether the subject stands for the same in both sentences: a definite one, or all of a kind."""
    subject = sentence.clause.subject
    return is_definite(subject) or (isinstance(subject, NounPhrase) and subject.determiner is EVERY)


def _has_one_event(sentence: Sentence) -> bool:
    """Return whether a sentence tells of one event of known things: nothing that is possible or happens often."""
    clause = sentence.clause
    possible = clause.modal is not None and clause.modal.word == "can"
    return _is_known(sentence) and not possible and clause.adverb is None and not isinstance(sentence.fronted, Plain)


def _with_never(sentence: Sentence) -> list[Edit]:
    if not _is_known(sentence) or sentence.trailing is not None:
        return []
    fronted = None if isinstance(sentence.fronted, Plain) else sentence.fronted
    return [_fixed("negation", replace(sentence, clause=replace(sentence.clause, adverb=NEVER), fronted=fronted))]


def _without_never(sentence: Sentence) -> list[Edit]:
    def with_adverb(adverb: Plain | None) -> Sentence:
        return replace(sentence, clause=replace(sentence.clause, adverb=adverb))

    return [
        _fixed("negation", with_adverb(None)),
        Edit("contradict", "negation", lambda parts: with_adverb(parts.adverb())),
    ]


def _with_no(sentence: Sentence) -> list[Edit]:
    found = phrases(sentence)
    roles: list[Role] = ["subject"] if "subject" in found else []
    if "object" in found and _has_one_event(sentence) and sentence.trailing is None:
        roles.append("object")
    return [_fixed("negation", with_nominal(sentence, role, replace(found[role], determiner=NO))) for role in roles]


def _without_no(sentence: Sentence, role: Role) -> list[Edit]:
    phrase = phrases(sentence)[role]
    return [
        _fixed("negation", with_nominal(sentence, role, replace(phrase, determiner=other))) for other in (THE, A, THIS)
    ]


def _attributes(sentence: Sentence) -> list[Edit]:
    """Return the edits that give a definite phrase an adjective which excludes the one it has."""
    found = []
    for role, phrase in phrases(sentence).items():
        if not is_definite(phrase):
            continue
        predicate = sentence.clause.predicate if role == "subject" else None
        for adjective in phrase.adjectives:
            others = [one for one in phrase.adjectives if one != adjective]
            for word in kinship.exclusive(adjective.word):
                new = kinship.adjective(word)
                if new in (*others, predicate):
                    continue
                changed = tuple(new if one == adjective else one for one in phrase.adjectives)
                found.append(_fixed("adjective", with_nominal(sentence, role, replace(phrase, adjectives=changed))))
    return found


def _accompaniments(sentence: Sentence) -> list[Edit]:
    """Return the edits between `with` and `without` inside a definite phrase."""
    found = []
    for role, phrase in phrases(sentence).items():
        if not is_definite(phrase) or phrase.modifier is None:
            continue
        nominal = phrase.modifier.nominal
        if is_definite(nominal) or (isinstance(nominal, NounPhrase) and nominal.determiner is A):
            for other in _opposite(phrase.modifier, OF_NOUNS):
                changed = replace(phrase, modifier=replace(phrase.modifier, preposition=other))
                found.append(_fixed("preposition", with_nominal(sentence, role, changed)))
    return found


def _events(sentence: Sentence) -> list[Edit]:
    """Return the edits that tell of known things what cannot be true of them at the same time."""
    clause = sentence.clause
    if not _has_one_event(sentence) or negation(sentence):
        return []
    found = []
    if clause.predicate is not None:
        attributes = clause.subject.adjectives if isinstance(clause.subject, NounPhrase) else ()
        for word in kinship.exclusive(clause.predicate.word):
            if (new := kinship.adjective(word)) not in attributes:
                found.append(_fixed("predicate", replace(sentence, clause=replace(clause, predicate=new))))
    if clause.object is not None and not is_definite(clause.object):
        return found
    if clause.oblique is not None and is_definite(clause.oblique.nominal):
        for other in _opposite(clause.oblique, OF_VERBS):
            changed = replace(clause, oblique=replace(clause.oblique, preposition=other))
            found.append(_fixed("preposition", replace(sentence, clause=changed)))
    for word in kinship.exclusive(clause.verb.word):
        found.append(_fixed("verb", replace(sentence, clause=replace(clause, verb=kinship.verb(word)))))
    return found


def _opposite(phrase: PrepositionalPhrase, prepositions: tuple[Preposition, ...]) -> list[Preposition]:
    return [one for one in prepositions if one.word in kinship.exclusive(phrase.preposition.word)]


def _fixed(part: str, result: Sentence) -> Edit:
    return Edit("contradict", part, lambda _: result)
