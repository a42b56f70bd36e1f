"""Known edits that change the meaning of a sentence: to contradictory and to neutral sentences.

Two sentences are about the same things at the same time: a definite noun phrase with the same noun refers to the
same thing in both. Sentences about things that need not be the same ("a dog snores", "a dog never snores") do not
contradict each other.
"""

from dataclasses import replace

from headroom.data.grammar import logic
from headroom.data.grammar.donor_phrases import DonorPhrases
from headroom.data.grammar.edits import Change, Edit, fix_edit
from headroom.data.grammar.lexicon import OF_NOUNS, OF_VERBS, Noun, Plain, Preposition, Verb
from headroom.data.grammar.tree import Name, Nominal, NounPhrase, PrepositionalPhrase, Sentence, ends_in_clause


def exclusions(sentence: Sentence) -> list[Edit]:
    """Return the edits that replace a word by a mutually exclusive one."""
    return [*_attributes(sentence), *_accompaniments(sentence), *_events(sentence)]


def denials(sentence: Sentence) -> list[Edit]:
    """Return the edits that negate a statement, or remove a negation."""
    match logic.negation(sentence):
        case "":
            return [*_with_never(sentence), *_with_no(sentence)]
        case "never":
            return _without_never(sentence) if _is_known(sentence) else []
        case "subject":
            return _without_no(sentence, "subject")
        case "object":
            return _without_no(sentence, "object") if _has_one_event(sentence) else []


def changes(sentence: Sentence) -> list[Edit]:
    """Return the edits after which neither the truth nor the falsehood of the sentence edited follows."""
    return [
        *_other_nouns(sentence),
        *_other_verb(sentence),
        *_other_adjectives(sentence),
        *_move_adjectives(sentence),
        *_swap_roles(sentence),
        *_report_sentence(sentence),
    ]


def _is_known(sentence: Sentence) -> bool:
    """Return whether the subject has the same reference in both sentences: a definite one, or all of a kind."""
    subject = sentence.clause.subject
    return logic.is_definite(subject) or (isinstance(subject, NounPhrase) and subject.determiner is logic.EVERY)


def _has_one_event(sentence: Sentence) -> bool:
    """Return whether a sentence reports one event of known things, without modality or repetition."""
    clause = sentence.clause
    possible = clause.modal is not None and clause.modal.word == "can"
    return _is_known(sentence) and not possible and clause.adverb is None and not isinstance(sentence.fronted, Plain)


def _with_never(sentence: Sentence) -> list[Edit]:
    if not _is_known(sentence) or sentence.trailing is not None:
        return []
    fronted = None if isinstance(sentence.fronted, Plain) else sentence.fronted
    return [_contradiction("negation", replace(logic.with_clause(sentence, adverb=logic.NEVER), fronted=fronted))]


def _without_never(sentence: Sentence) -> list[Edit]:
    return [
        _contradiction("negation", logic.with_clause(sentence, adverb=None)),
        Edit("contradict", "negation", lambda parts: logic.with_clause(sentence, adverb=parts.adverb())),
    ]


def _with_no(sentence: Sentence) -> list[Edit]:
    found = logic.phrases(sentence)
    roles: list[logic.Role] = ["subject"] if "subject" in found else []
    if "object" in found and _has_one_event(sentence) and sentence.trailing is None:
        roles.append("object")
    return [_contradiction("negation", logic.with_phrase(sentence, role, determiner=logic.NO)) for role in roles]


def _without_no(sentence: Sentence, role: logic.Role) -> list[Edit]:
    others = (logic.THE, logic.A, logic.THIS)
    return [_contradiction("negation", logic.with_phrase(sentence, role, determiner=other)) for other in others]


def _attributes(sentence: Sentence) -> list[Edit]:
    return [
        _contradiction("adjective", _exchange_word(sentence, role, old, new))
        for role, phrase in logic.phrases(sentence).items()
        if logic.is_definite(phrase)
        for old in phrase.adjectives
        for new in map(logic.adjective, logic.exclusive(old.word))
        if new not in [one for one in logic.descriptions(sentence, role) if one is not old]
    ]


def _accompaniments(sentence: Sentence) -> list[Edit]:
    found = []
    for role, phrase in logic.phrases(sentence).items():
        if not logic.is_definite(phrase) or phrase.modifier is None:
            continue
        nominal = phrase.modifier.nominal
        if logic.is_definite(nominal) or (isinstance(nominal, NounPhrase) and nominal.determiner is logic.A):
            for other in _opposite(phrase.modifier, OF_NOUNS):
                changed = replace(phrase.modifier, preposition=other)
                found.append(_contradiction("preposition", logic.with_phrase(sentence, role, modifier=changed)))
    return found


def _events(sentence: Sentence) -> list[Edit]:
    """Return the edits that state an incompatible event about known things."""
    clause = sentence.clause
    if not _has_one_event(sentence) or logic.negation(sentence):
        return []
    found = []
    if clause.predicate is not None:
        attributes = clause.subject.adjectives if isinstance(clause.subject, NounPhrase) else ()
        for new in map(logic.adjective, logic.exclusive(clause.predicate.word)):
            if new not in attributes:
                found.append(_contradiction("predicate", logic.with_clause(sentence, predicate=new)))
    if clause.object is not None and not logic.is_definite(clause.object):
        return found
    if clause.oblique is not None and logic.is_definite(clause.oblique.nominal):
        for other in _opposite(clause.oblique, OF_VERBS):
            changed = replace(clause.oblique, preposition=other)
            found.append(_contradiction("preposition", logic.with_clause(sentence, oblique=changed)))
    for word in logic.exclusive(clause.verb.word):
        found.append(_contradiction("verb", logic.with_clause(sentence, verb=logic.verb(word))))
    return found


def _opposite(phrase: PrepositionalPhrase, prepositions: tuple[Preposition, ...]) -> list[Preposition]:
    return [one for one in prepositions if one.word in logic.exclusive(phrase.preposition.word)]


def _contradiction(part: str, result: Sentence) -> Edit:
    return fix_edit("contradict", part, result)


def _exchange_word(sentence: Sentence, role: logic.Role, old: Plain, new: Plain) -> Sentence:
    adjectives = tuple(new if one == old else one for one in logic.phrases(sentence)[role].adjectives)
    return logic.with_phrase(sentence, role, adjectives=adjectives)


def _other_nouns(sentence: Sentence) -> list[Edit]:
    def change(role: logic.Role, noun: Noun) -> Change:
        return lambda parts: logic.with_phrase(sentence, role, noun=_find_unrelated_noun(noun, parts))

    found = logic.phrases(sentence).items()
    return [Edit("exchange", "noun", change(role, one.noun)) for role, one in found if one.relative is None]


def _find_unrelated_noun(noun: Noun, parts: DonorPhrases) -> Noun:
    while not logic.are_unrelated(noun.word, (other := parts.noun(logic.noun_kind(noun))).word):
        pass
    return other


def _other_verb(sentence: Sentence) -> list[Edit]:
    old = sentence.clause.verb
    if logic.verb_kind(old) not in ("transitive", "intransitive"):  # tossing entails passing, etc.
        return []

    def other(parts: DonorPhrases) -> Verb:
        while not logic.are_unrelated(old.word, (new := parts.verb(logic.verb_kind(old))).word):
            pass
        return new

    return [Edit("exchange", "verb", lambda parts: logic.with_clause(sentence, verb=other(parts)))]


def _other_adjectives(sentence: Sentence) -> list[Edit]:

    def change(role: logic.Role, old: Plain) -> Change:
        present = logic.descriptions(sentence, role)
        return lambda parts: _exchange_word(sentence, role, old, _find_unrelated_adjective(present, parts))

    found = [change(role, one) for role, phrase in logic.phrases(sentence).items() for one in phrase.adjectives]
    if predicate := sentence.clause.predicate:
        *attributes, _ = logic.descriptions(sentence, "subject")
        present = (predicate, *attributes)
        found.append(lambda parts: logic.with_clause(sentence, predicate=_find_unrelated_adjective(present, parts)))
    return [Edit("exchange", "adjective", one) for one in found]


def _find_unrelated_adjective(present: tuple[Plain, ...], parts: DonorPhrases) -> Plain:
    """Return an adjective that neither follows from one of those present nor excludes it."""
    while not all(logic.are_unrelated(one.word, (new := parts.adjective()).word) for one in present):
        pass
    return new


def _move_adjectives(sentence: Sentence) -> list[Edit]:
    """Return the edits that move an adjective to another noun, where its removal makes the sentence weaker."""
    found = []
    for role, phrase in logic.phrases(sentence).items():
        for other, target in logic.phrases(sentence).items():
            for moved in phrase.adjectives:
                present = target.adjectives
                fits = not any(one == moved or one.word in logic.exclusive(moved.word) for one in present)
                if other != role and logic.direction(sentence, role) > 0 and fits and len(present) < 2:
                    rest = tuple(one for one in phrase.adjectives if one != moved)
                    without = logic.with_phrase(sentence, role, adjectives=rest)
                    found.append(
                        fix_edit("move", "adjective", logic.with_phrase(without, other, adjectives=(moved, *present)))
                    )
    return found


def _swap_roles(sentence: Sentence) -> list[Edit]:
    found = []
    roles: tuple[logic.Role, ...] = ("object", "recipient")
    for role in roles:
        subject, other = logic.nominal_at(sentence, "subject"), logic.nominal_at(sentence, role)
        if subject is None or other is None or not (_is_living(subject) and _is_living(other)):
            continue
        if role == "recipient" and not (_is_bare(subject) and _is_bare(other)):
            continue
        swapped = logic.with_nominal(logic.with_nominal(sentence, "subject", other), role, subject)
        found.append(fix_edit("swap", "roles", swapped))
    return found


def _report_sentence(sentence: Sentence) -> list[Edit]:
    """Return the edit that embeds the sentence as a statement or belief of someone."""
    clause = sentence.clause
    if sentence.fronted is not None or sentence.trailing is not None or clause.content is not None:
        return []
    if ends_in_clause(clause.subject) or ends_in_clause(clause.object):
        return []
    return [Edit("report", "clause", lambda parts: Sentence(replace(parts.saying(), content=clause)))]


def _is_living(nominal: Nominal) -> bool:
    """Return whether a nominal is a name or a phrase of a person or animal, without a relative clause."""
    if isinstance(nominal, NounPhrase):
        return logic.noun_kind(nominal.noun) in ("persons", "animals") and nominal.relative is None
    return isinstance(nominal, Name)


def _is_bare(nominal: Nominal) -> bool:
    return not isinstance(nominal, NounPhrase) or nominal.modifier is None
