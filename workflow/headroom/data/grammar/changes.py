"""Known edits that give a sentence of which neither the truth nor the falsehood of the one edited follows."""

from dataclasses import replace

from headroom.data.grammar.edits import Edit
from headroom.data.grammar.kinship import exclusive, noun_kind, unrelated, verb_kind
from headroom.data.grammar.lexicon import Noun, Plain, Verb
from headroom.data.grammar.positions import Role, direction, nominal_at, phrases, with_nominal
from headroom.data.grammar.spare_parts import SpareParts
from headroom.data.grammar.tree import Name, Nominal, NounPhrase, Sentence, ends_in_clause

_OTHER_ROLES: tuple[Role, ...] = ("object", "recipient")


def changes(sentence: Sentence) -> list[Edit]:
    """Return the edits that say something else."""
    return [
        *_other_nouns(sentence),
        *_other_verb(sentence),
        *_other_adjectives(sentence),
        *_moved_adjectives(sentence),
        *_swapped_roles(sentence),
        *_reported(sentence),
    ]


def _other_nouns(sentence: Sentence) -> list[Edit]:
    def edit(role: Role, phrase: NounPhrase) -> Edit:
        return Edit(
            "exchange",
            "noun",
            lambda parts: with_nominal(sentence, role, replace(phrase, noun=_unrelated_noun(phrase.noun, parts))),
        )

    return [edit(role, phrase) for role, phrase in phrases(sentence).items() if phrase.relative is None]


def _unrelated_noun(noun: Noun, parts: SpareParts) -> Noun:
    while not unrelated(noun.word, (other := parts.noun(noun_kind(noun))).word):
        pass
    return other


def _other_verb(sentence: Sentence) -> list[Edit]:
    clause = sentence.clause
    if verb_kind(clause.verb) not in ("transitive", "intransitive"):  # whoever tosses something passes it, and so on
        return []

    def other(verb: Verb, parts: SpareParts) -> Verb:
        while not unrelated(verb.word, (new := parts.verb(verb_kind(verb))).word):
            pass
        return new

    return [
        Edit(
            "exchange",
            "verb",
            lambda parts: replace(sentence, clause=replace(clause, verb=other(clause.verb, parts))),
        )
    ]


def _other_adjectives(sentence: Sentence) -> list[Edit]:
    """Return the edits that exchange an adjective of a noun, or the predicate, for an unrelated one."""
    found = []
    for role, phrase in phrases(sentence).items():
        for adjective in phrase.adjectives:
            found.append(_other_adjective(sentence, role, phrase, adjective))
    predicate = sentence.clause.predicate
    if predicate is not None:
        subject = phrases(sentence).get("subject")
        present = (predicate, *(() if subject is None else subject.adjectives))
        found.append(
            Edit(
                "exchange",
                "adjective",
                lambda parts: replace(
                    sentence, clause=replace(sentence.clause, predicate=_unrelated_adjective(present, parts))
                ),
            )
        )
    return found


def _other_adjective(sentence: Sentence, role: Role, phrase: NounPhrase, adjective: Plain) -> Edit:
    predicate = sentence.clause.predicate if role == "subject" else None
    present = (*phrase.adjectives, *(() if predicate is None else (predicate,)))

    def change(parts: SpareParts) -> Sentence:
        new = _unrelated_adjective(present, parts)
        adjectives = tuple(new if one == adjective else one for one in phrase.adjectives)
        return with_nominal(sentence, role, replace(phrase, adjectives=adjectives))

    return Edit("exchange", "adjective", change)


def _unrelated_adjective(present: tuple[Plain, ...], parts: SpareParts) -> Plain:
    """Return an adjective that neither follows from one of those present nor excludes it."""
    while not all(unrelated(one.word, (new := parts.adjective()).word) for one in present):
        pass
    return new


def _moved_adjectives(sentence: Sentence) -> list[Edit]:
    """Return the edits that move an adjective to another noun, from where its loss makes the sentence weaker."""
    found = []
    for role, phrase in phrases(sentence).items():
        for other, target in phrases(sentence).items():
            for adjective in phrase.adjectives:
                present = target.adjectives
                fits = not any(one == adjective or one.word in exclusive(adjective.word) for one in present)
                if other != role and direction(sentence, role) > 0 and fits and len(present) < 2:
                    found.append(_moved(sentence, role, other, adjective))
    return found


def _moved(sentence: Sentence, role: Role, other: Role, adjective: Plain) -> Edit:
    phrase, target = phrases(sentence)[role], phrases(sentence)[other]
    rest = tuple(one for one in phrase.adjectives if one != adjective)
    without = with_nominal(sentence, role, replace(phrase, adjectives=rest))
    result = with_nominal(without, other, replace(target, adjectives=(adjective, *target.adjectives)))
    return _fixed("move", "adjective", result)


def _swapped_roles(sentence: Sentence) -> list[Edit]:
    """Return the edits that exchange the subject with the object or recipient, if both are alive."""
    found = []
    for role in _OTHER_ROLES:
        subject, other = nominal_at(sentence, "subject"), nominal_at(sentence, role)
        if subject is None or other is None or not (_is_living(subject) and _is_living(other)):
            continue
        if role == "recipient" and not (_is_bare(subject) and _is_bare(other)):
            continue
        swapped = with_nominal(with_nominal(sentence, "subject", other), role, subject)
        found.append(_fixed("swap", "roles", swapped))
    return found


def _reported(sentence: Sentence) -> list[Edit]:
    """Return the edit that makes the sentence what somebody says or believes."""
    clause = sentence.clause
    if sentence.fronted is not None or sentence.trailing is not None or clause.content is not None:
        return []
    if ends_in_clause(clause.subject) or ends_in_clause(clause.object):
        return []
    return [Edit("report", "clause", lambda parts: Sentence(replace(parts.saying(), content=clause)))]


def _is_living(nominal: Nominal) -> bool:
    """Return whether a nominal is a name or a phrase of a person or animal, without a relative clause."""
    if isinstance(nominal, NounPhrase):
        return noun_kind(nominal.noun) in ("persons", "animals") and nominal.relative is None
    return isinstance(nominal, Name)


def _is_bare(nominal: Nominal) -> bool:
    return not isinstance(nominal, NounPhrase) or nominal.modifier is None


def _fixed(how: str, part: str, result: Sentence) -> Edit:
    return Edit(how, part, lambda _: result)
