"""Known edits that make a sentence logically stronger or weaker.

An edit changes the structure, never the string. `stronger` and `weaker` are each other's reverse: a sentence
follows from every stronger one, and none of its weaker ones entails it. Relative clauses, content clauses and
coordinations are not modified internally.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headroom.data.grammar import logic
from headroom.data.grammar.donor_phrases import FACTIVE, DonorPhrases
from headroom.data.grammar.lexicon import Plain
from headroom.data.grammar.tree import (
    Coordination,
    Name,
    NounPhrase,
    PrepositionalPhrase,
    Sentence,
    Subordinate,
    ends_in_clause,
)

Change = Callable[[DonorPhrases], Sentence]


@dataclass(frozen=True)
class Edit:
    """A change of a sentence.

    `part` is the changed part, `how` whether it is added, dropped or exchanged; `apply` returns the new
    sentence, with parts from the store if needed.
    """

    how: str
    part: str
    apply: Change


def fix_edit(how: str, part: str, result: Sentence) -> Edit:
    """Return an edit that needs no parts."""
    return Edit(how, part, lambda _: result)


def stronger(sentence: Sentence) -> list[Edit]:
    """Return the edits that give a sentence which entails this one."""
    return _steps(sentence, 1)


def weaker(sentence: Sentence) -> list[Edit]:
    """Return the edits that give a sentence which this one entails, and which does not entail it."""
    return _steps(sentence, -1)


def _steps(sentence: Sentence, wanted: int) -> list[Edit]:
    """Return edits that add where adding has the wanted direction, and drop where it has the opposite one."""
    found = _adverb_steps(sentence, wanted) + _oblique_steps(sentence, wanted)
    found += _clause_steps(sentence) if wanted > 0 else []
    for role in logic.phrases(sentence):
        works = logic.direction(sentence, role) * wanted
        if works > 0:
            found += _additions(sentence, role, wanted)
        elif works < 0:
            found += _omissions(sentence, role, wanted)
        found += _determiners(sentence, role, wanted)
    return found + _conjuncts(sentence, "subject", wanted) + _conjuncts(sentence, "object", wanted)


def _additions(sentence: Sentence, role: logic.Role, wanted: int) -> list[Edit]:
    phrase = logic.phrases(sentence)[role]
    found: list[tuple[str, Change]] = []
    if len(phrase.adjectives) < 2:
        found.append(("adjective", lambda parts: _describe_role(sentence, role, parts)))
    if phrase.modifier is None and role in ("subject", "object"):
        found.append(
            ("modifier", lambda parts: logic.with_phrase(sentence, role, modifier=_draw_phrase(parts.modifier, wanted)))
        )
    if wanted > 0 and phrase.relative is None and _may_end_in_clause(sentence, role):
        found.append(("relative", lambda parts: logic.with_phrase(sentence, role, relative=parts.relative(phrase))))
    return [Edit("add", part, change) for part, change in found]


def _omissions(sentence: Sentence, role: logic.Role, wanted: int) -> list[Edit]:
    """Return the edits that take one modifier from the noun phrase in this role.

    Under a negation that makes the sentence stronger, if the modifier has no presupposition.
    """
    phrase = logic.phrases(sentence)[role]
    smaller = [
        ("adjective", replace(phrase, adjectives=tuple(one for one in phrase.adjectives if one != adjective)))
        for adjective in phrase.adjectives
    ]
    if phrase.modifier is not None and (wanted < 0 or not _presupposes(phrase.modifier)):
        smaller.append(("modifier", replace(phrase, modifier=None)))
    if phrase.relative is not None and wanted < 0:
        smaller.append(("relative", replace(phrase, relative=None)))
    return [fix_edit("drop", part, logic.with_nominal(sentence, role, rest)) for part, rest in smaller]


def _describe_role(sentence: Sentence, role: logic.Role, parts: DonorPhrases) -> Sentence:
    """Return the sentence with an additional adjective, compatible with those of its phrase and the predicate."""
    present = logic.descriptions(sentence, role)
    while (adjective := parts.adjective()) in present or any(
        adjective.word in logic.exclusive(one.word) for one in present
    ):
        pass
    return logic.with_phrase(sentence, role, adjectives=(adjective, *logic.phrases(sentence)[role].adjectives))


def _determiners(sentence: Sentence, role: logic.Role, wanted: int) -> list[Edit]:
    """Return the edits between `a` and stronger determiners, without negation."""
    phrase = logic.phrases(sentence)[role]
    if logic.negation(sentence) or logic.direction(sentence, role) <= 0:
        return []
    definite = (logic.THE, logic.THIS, *((logic.TWO, logic.THREE) if phrase.plural else ()))
    if wanted > 0:
        others = definite if phrase.determiner is logic.A else ()
    else:
        others = (logic.A,) if phrase.determiner in definite else ()
    return [fix_edit("exchange", "determiner", logic.with_phrase(sentence, role, determiner=other)) for other in others]


def _conjuncts(sentence: Sentence, role: logic.Role, wanted: int) -> list[Edit]:
    nominal = logic.nominal_at(sentence, role)
    if logic.negation(sentence) not in ("", "never") or (logic.negation(sentence) and role == "object"):
        return []
    if wanted < 0 and isinstance(nominal, Coordination):
        rests = (nominal.first, nominal.second)
        return [fix_edit("drop", "conjunct", logic.with_nominal(sentence, role, rest)) for rest in rests]
    if wanted > 0 and isinstance(nominal, NounPhrase | Name) and logic.is_simple(nominal) and _is_bare(nominal):

        def joined(parts: DonorPhrases) -> Sentence:
            other = parts.conjunct()
            both = (nominal, other) if parts.random.random() < 0.5 else (other, nominal)
            return logic.with_nominal(sentence, role, Coordination(*both))

        return [Edit("add", "conjunct", joined)]
    return []


def _adverb_steps(sentence: Sentence, wanted: int) -> list[Edit]:
    works = logic.event_direction(sentence, "adverb") * wanted
    adverb, is_fronted = sentence.clause.adverb, isinstance(sentence.fronted, Plain)
    found: list[Change] = []
    if works > 0 and adverb is None and not is_fronted:
        found.append(lambda parts: logic.with_clause(sentence, adverb=parts.adverb()))
        if sentence.fronted is None:
            found.append(lambda parts: replace(sentence, fronted=parts.adverb()))
    if works < 0 and adverb is not None:
        found.append(lambda _: logic.with_clause(sentence, adverb=None))
    if works < 0 and is_fronted:
        found.append(lambda _: replace(sentence, fronted=None))
    return [Edit("add" if works > 0 else "drop", "adverb", change) for change in found]


def _oblique_steps(sentence: Sentence, wanted: int) -> list[Edit]:
    clause, fronted = sentence.clause, sentence.fronted
    works = logic.event_direction(sentence, "oblique") * wanted
    found: list[Change] = []
    if works > 0 and clause.oblique is None and clause.content is None and clause.predicate is None:
        if not ends_in_clause(clause.object):
            found.append(lambda parts: logic.with_clause(sentence, oblique=_draw_phrase(parts.oblique, wanted)))
        if fronted is None:
            found.append(lambda parts: replace(sentence, fronted=_draw_phrase(parts.oblique, wanted)))
    if works < 0 and clause.oblique is not None and (wanted < 0 or not _presupposes(clause.oblique)):
        found.append(lambda _: logic.with_clause(sentence, oblique=None))
    if works < 0 and isinstance(fronted, PrepositionalPhrase) and (wanted < 0 or not _presupposes(fronted)):
        found.append(lambda _: replace(sentence, fronted=None))
    return [Edit("add" if works > 0 else "drop", "oblique", change) for change in found]


def _clause_steps(sentence: Sentence) -> list[Edit]:
    """Return the edits that join the sentence to another by `because` or `although`: both are true then."""
    clause = sentence.clause
    if sentence.fronted is not None or sentence.trailing is not None:
        return []
    found: list[Change] = [lambda parts: replace(sentence, fronted=parts.subordinate())]
    if clause.content is None:
        found.append(lambda parts: Sentence(parts.clause(), Subordinate(parts.random.choice(FACTIVE), clause)))
    # "never barks because ..." may deny the reason only
    if clause.content is None and not logic.negation(sentence) and not ends_in_clause(clause.object):
        found.append(lambda parts: replace(sentence, trailing=parts.subordinate()))
    return [Edit("add", "clause", change) for change in found]


def _may_end_in_clause(sentence: Sentence, role: logic.Role) -> bool:
    """Return whether a relative clause on this noun phrase does not make the attachment of later phrases ambiguous."""
    clause = sentence.clause
    return role == "subject" or (role == "object" and not (clause.oblique or clause.recipient or sentence.trailing))


def _draw_phrase(draw: Callable[[], PrepositionalPhrase], wanted: int) -> PrepositionalPhrase:
    """Return a new phrase; one that makes a sentence weaker, under a negation, has no presupposition."""
    while _presupposes(phrase := draw()) and wanted < 0:
        pass
    return phrase


def _presupposes(phrase: PrepositionalPhrase) -> bool:
    """Return whether a phrase presupposes a property: `in the old house`, but not `in an old house`."""
    nominal = phrase.nominal
    if not isinstance(nominal, NounPhrase):
        return False
    return logic.is_definite(nominal) and nominal != NounPhrase(nominal.noun, nominal.determiner, nominal.plural)


def _is_bare(nominal: NounPhrase | Name) -> bool:
    return isinstance(nominal, Name) or (nominal.modifier is None and nominal.relative is None)
