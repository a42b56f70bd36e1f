"""The target language: verb second in main clauses, verb last in subordinate ones."""

from headroom.data.grammar import lexicon, tree
from headroom.data.grammar.lexicon import Plain, transliterate


def translate(sentence: tree.Sentence) -> str:
    """Return the one translation of a sentence as plain text."""
    words = _main(sentence)
    if sentence.trailing is not None:
        words += _subordinate(sentence.trailing)
    joined = " ".join(words).replace(" ,", ",") + "."
    return joined[0].upper() + joined[1:]


def _main(sentence: tree.Sentence) -> list[str]:
    """Return the main clause: one constituent, the finite verb, then the rest, an infinitive last."""
    clause = sentence.clause
    finite, closing = _verb(clause)
    assert clause.subject is not None, "only relative clauses lack a subject"
    subject = _nominal(clause.subject, "nom")
    front = _fronted(sentence)
    opening = [*front, finite, *subject] if front else [*subject, finite]
    return [*opening, *_middle(clause), *closing, *_content(clause)]


def _verb_last(clause: tree.Clause) -> list[str]:
    """Return a clause with its finite verb last, after the infinitive; a content clause follows the verb."""
    finite, closing = _verb(clause)
    subject = [] if clause.subject is None else _nominal(clause.subject, "nom")
    return [*subject, *_middle(clause), *closing, finite, *_content(clause)]


def _fronted(sentence: tree.Sentence) -> list[str]:
    match sentence.fronted:
        case None:
            return []
        case Plain(_, stem):
            return [stem]
        case tree.PrepositionalPhrase() as phrase:
            return _prepositional(phrase)
        case tree.Subordinate() as subordinate:
            return [*_subordinate(subordinate), ","]


def _verb(clause: tree.Clause) -> tuple[str, list[str]]:
    """Return the finite verb and the right verb bracket: predicate and infinitive."""
    plural = clause.agreement == "plural"
    predicate = []
    if clause.predicate is not None:
        predicate = [clause.predicate.stem + lexicon.adjective_ending(clause.agreement, "nom")]
    if clause.modal is not None:
        return lexicon.modal_form(clause.modal, plural), [*predicate, clause.verb.infinitive]
    return clause.verb.target(clause.tense, plural), predicate


def _middle(clause: tree.Clause) -> list[str]:
    """Return adverb, recipient, object and oblique, in this order."""
    words = [] if clause.adverb is None else [clause.adverb.stem]
    if clause.recipient is not None:
        words += _nominal(clause.recipient, "dat")
    if clause.object is not None:
        words += _nominal(clause.object, clause.verb.government)
    if clause.oblique is not None:
        words += _prepositional(clause.oblique)
    return words


def _content(clause: tree.Clause) -> list[str]:
    return [] if clause.content is None else [lexicon.THAT.target, *_verb_last(clause.content)]


def _nominal(nominal: tree.Nominal, case: str) -> list[str]:
    match nominal:
        case tree.Name(spelling):
            return [transliterate(spelling)]
        case tree.Coordination(first, second):
            return [*_nominal(first, case), lexicon.AND.target, *_nominal(second, case)]
        case tree.NounPhrase():
            return _noun_phrase(nominal, case)


def _noun_phrase(phrase: tree.NounPhrase, case: str) -> list[str]:
    agrees = tree.agreement(phrase)
    ending = lexicon.adjective_ending(agrees, case)
    adjectives = [adjective.stem + ending for adjective in phrase.adjectives]
    words = [phrase.determiner.target(agrees, case), *adjectives, phrase.noun.target(phrase.plural)]
    if phrase.modifier is not None:
        words += _prepositional(phrase.modifier)
    if phrase.relative is not None:
        words += _relative(phrase.relative, agrees)
    return words


def _relative(relative: tree.Relative, agrees: str) -> list[str]:
    case = "nom" if relative.role == "subject" else relative.clause.verb.government
    pronoun = lexicon.RELATIVE_STEM + lexicon.determiner_ending(agrees, case)
    return [pronoun, *_verb_last(relative.clause)]


def _subordinate(subordinate: tree.Subordinate) -> list[str]:
    return [subordinate.conjunction.target, *_verb_last(subordinate.clause)]


def _prepositional(phrase: tree.PrepositionalPhrase) -> list[str]:
    return [phrase.preposition.target, *_nominal(phrase.nominal, phrase.preposition.case)]
