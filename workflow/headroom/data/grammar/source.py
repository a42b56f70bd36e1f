"""The source language: words in English order, with Universal Dependencies, in the form of CoNLL-U.

Every tree is projective: fronting stays within the clause, and modifiers are adjacent to their nouns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import conllu

from headroom.data.grammar import tree
from headroom.data.grammar.lexicon import AND, BE, BY, THAT, THEY, TO, Noun, Plain, Verb


@dataclass(eq=False)
class Token:
    """One word of a sentence with its CoNLL-U fields; `governor` is None for the root.

    `part` is the clause of a verb, the nominal of a noun, or the noun that modifies another one; None for other words.
    """

    form: str
    lemma: str
    universal: str
    features: dict[str, str] = field(default_factory=dict)
    relation: str = "root"
    governor: "Token | None" = None
    space_after: bool = True
    part: object = None


@dataclass(frozen=True)
class _Phrase:
    """Words in order, and their head."""

    tokens: list[Token]
    head: Token

    def under(self, governor: Token, relation: str) -> list[Token]:
        """Attach the head to a governor and return the words."""
        self.head.governor, self.head.relation = governor, relation
        return self.tokens


def realise(sentence: tree.Sentence) -> list[Token]:
    """Return the words of a sentence, the final full stop included, each with its governor and relation."""
    main = _clause(sentence.clause)
    tokens = _front_verb(sentence, main.head) + main.tokens
    if sentence.trailing is not None:
        tokens += _subordinate(sentence.trailing).under(main.head, "advcl")
    tokens[-1].space_after = False
    tokens += [Token(".", ".", "PUNCT", {}, "punct", main.head)]
    tokens[0].form = tokens[0].form[0].upper() + tokens[0].form[1:]
    return tokens


def text(tokens: Sequence[Token]) -> str:
    """Return the plain text of a sentence."""
    return "".join(token.form + (" " if token.space_after else "") for token in tokens).rstrip(" ")


def _front_verb(sentence: tree.Sentence, verb: Token) -> list[Token]:
    match sentence.fronted:
        case None:
            return []
        case Plain() as adverb:
            return _adverb(adverb).under(verb, "advmod")
        case tree.PrepositionalPhrase() as phrase:
            return _prepositional(phrase).under(verb, "obl")
        case tree.Subordinate() as subordinate:
            clause = _subordinate(subordinate)
            clause.tokens[-1].space_after = False
            comma = Token(",", ",", "PUNCT", {}, "punct", clause.head)
            return [*clause.under(verb, "advcl"), comma]


def _clause(clause: tree.Clause, antecedent: tree.NounPhrase | None = None) -> _Phrase:
    """Return subject, modal, adverb, verb, and what follows the verb, in this order."""
    predicate = _adjective(clause.predicate) if clause.predicate else None
    finite, verb = _verbs(clause, _is_plural(clause, antecedent))
    head = predicate.head if predicate else verb
    before: list[Token] = []
    if clause.topic is not None:
        before += _nominal(clause.topic).under(head, _subject_relation(clause))
    if clause.modal is not None:
        before.append(Token(clause.modal.word, clause.modal.word, "AUX", {"VerbForm": "Fin"}, "aux", head))
    adverb = _adverb(clause.adverb).under(head, "advmod") if clause.adverb else []
    early, late = ([], adverb) if clause.late else (adverb, [])
    if predicate is None:
        for token in finite:
            token.governor, token.relation = head, "aux:pass"
        return _Phrase([*before, *finite, *early, verb, *_after(clause, head), *late, *_content(clause, head)], head)
    verb.governor, verb.relation = head, "cop"
    return _Phrase([*before, verb, *early, head, *late], head)


def _subject_relation(clause: tree.Clause) -> str:
    return "nsubj:pass" if clause.passive else "nsubj"


def _is_plural(clause: tree.Clause, antecedent: tree.NounPhrase | None) -> bool:
    """Return whether the source verb is plural; `they` is, also for one person or thing."""
    match clause.topic:
        case None:
            return antecedent.plural if antecedent else clause.gap == "plural"
        case tree.Pronoun():
            return True
        case nominal:
            return tree.agreement(nominal) == "plural"


def _after(clause: tree.Clause, verb: Token) -> list[Token]:
    """Return object, particle, who acts in a passive, recipient and oblique, in this order."""
    tokens: list[Token] = []
    if clause.object is not None and not clause.passive:
        tokens += _nominal(clause.object).under(verb, "obj")
    if clause.particle:
        tokens.append(Token(clause.particle, clause.particle, "ADP", {}, "compound:prt", verb))
    if clause.subject is not None and clause.passive:
        agent = _nominal(clause.subject)
        tokens += [_case(BY.word, agent.head), *agent.under(verb, "obl:agent")]
    if clause.recipient is not None:
        recipient = _nominal(clause.recipient)
        tokens += [_case(TO.word, recipient.head), *recipient.under(verb, "obl")]
    if clause.oblique is not None:
        tokens += _prepositional(clause.oblique).under(verb, "obl")
    return tokens


def _content(clause: tree.Clause, verb: Token) -> list[Token]:
    if clause.content is None:
        return []
    content = _clause(clause.content)
    return [_mark(THAT.word, content.head), *content.under(verb, "ccomp")]


def _verbs(clause: tree.Clause, plural: bool) -> tuple[list[Token], Token]:
    if not clause.passive:
        return [], _inflect_verb(clause, clause.verb, plural)
    features = {"Tense": "Past", "VerbForm": "Part", "Voice": "Pass"}
    auxiliary = _inflect_verb(clause, BE, plural)
    auxiliary.part = None
    return [auxiliary], Token(clause.verb.participle, clause.verb.word, "VERB", features, part=clause)


def _inflect_verb(clause: tree.Clause, verb: Verb, plural: bool) -> Token:
    universal = "AUX" if verb is BE else "VERB"
    if clause.modal is not None:
        return Token(verb.word, verb.word, universal, {"VerbForm": "Inf"}, part=clause)
    features = {"Tense": "Pres" if clause.tense == "present" else "Past", "VerbForm": "Fin"}
    if clause.tense == "present" or verb is BE:
        features = {"Number": "Plur" if plural else "Sing", **features}
    return Token(verb.source(clause.tense, plural), verb.word, universal, features, part=clause)


def _nominal(nominal: tree.Nominal) -> _Phrase:
    match nominal:
        case tree.Name(spelling):
            token = Token(spelling, spelling, "PROPN", {"Number": "Sing"}, part=nominal)
            return _Phrase([token], token)
        case tree.Pronoun():
            token = Token(THEY, THEY, "PRON", {"Number": "Plur", "PronType": "Prs"}, part=nominal)
            return _Phrase([token], token)
        case tree.Coordination(first, second):
            left, right = _nominal(first), _nominal(second)
            conjunction = Token(AND.word, AND.word, "CCONJ", {}, "cc", right.head)
            return _Phrase([*left.tokens, conjunction, *right.under(left.head, "conj")], left.head)
        case tree.NounPhrase():
            return _noun_phrase(nominal)


def _noun_phrase(phrase: tree.NounPhrase) -> _Phrase:
    number = "Plur" if phrase.plural else "Sing"
    noun = Token(phrase.noun.source(phrase.plural), phrase.noun.word, "NOUN", {"Number": number}, part=phrase)
    adjectives = [_adjective(adjective).under(noun, "amod")[0] for adjective in phrase.adjectives]
    compound = [] if phrase.compound is None else [_compound(phrase.compound, noun)]
    following = [*adjectives, *compound, noun]
    tokens = [_determiner(phrase, following[0].form, noun), *following]
    if phrase.modifier is not None:
        tokens += _prepositional(phrase.modifier).under(noun, "nmod")
    if phrase.relative is not None:
        tokens += _relative(phrase.relative, phrase).under(noun, "acl:relcl")
    return _Phrase(tokens, noun)


def _compound(noun: Noun, head: Token) -> Token:
    return Token(noun.word, noun.word, "NOUN", {"Number": "Sing"}, "compound", head, part=noun)


def _determiner(phrase: tree.NounPhrase, following: str, noun: Token) -> Token:
    word = phrase.determiner.source(phrase.plural)
    assert word is not None, "the sampler chooses a determiner that has the number of its noun"
    form = "an" if word == "a" and following[0] in "aeiou" else word
    numeral = phrase.determiner.universal == "NUM"
    return Token(form, word, phrase.determiner.universal, {}, "nummod" if numeral else "det", noun)


def _relative(relative: tree.Relative, antecedent: tree.NounPhrase) -> _Phrase:
    clause = _clause(relative.clause, antecedent)
    subject = relative.role == "subject" or relative.clause.passive
    relation = _subject_relation(relative.clause) if subject else "obj"
    word = THAT.word
    pronoun = Token(word, word, "PRON", {"PronType": "Rel"}, relation, clause.head)
    return _Phrase([pronoun, *clause.tokens], clause.head)


def _subordinate(subordinate: tree.Subordinate) -> _Phrase:
    clause = _clause(subordinate.clause)
    return _Phrase([_mark(subordinate.conjunction.word, clause.head), *clause.tokens], clause.head)


def _prepositional(phrase: tree.PrepositionalPhrase) -> _Phrase:
    nominal = _nominal(phrase.nominal)
    return _Phrase([_case(phrase.preposition.word, nominal.head), *nominal.tokens], nominal.head)


def _adjective(adjective: Plain) -> _Phrase:
    token = Token(adjective.word, adjective.word, "ADJ", {"Degree": "Pos"})
    return _Phrase([token], token)


def _adverb(adverb: Plain) -> _Phrase:
    token = Token(adverb.word, adverb.word, "ADV")
    return _Phrase([token], token)


def _case(word: str, governor: Token) -> Token:
    return Token(word, word, "ADP", {}, "case", governor)


def _mark(word: str, governor: Token) -> Token:
    return Token(word, word, "SCONJ", {}, "mark", governor)


def conllu_lines(sentences: Sequence[Sequence[Token]], *, name: str) -> list[str]:
    """Return the lines of sentences with ids `<name>-1`, `<name>-2`, ... in the order of the plain text.

    Format: https://universaldependencies.org/format.html; words are split as in the plain text, with
    `SpaceAfter=No` before punctuation.
    """
    lines: list[str] = []
    for number, tokens in enumerate(sentences, 1):
        about = conllu.Metadata(sent_id=f"{name}-{number}", text=text(tokens))
        lines += conllu.TokenList(_rows(tokens), metadata=about).serialize().removesuffix("\n").split("\n")
    return lines


def _rows(tokens: Sequence[Token]) -> list[conllu.Token]:
    number = {id(token): index for index, token in enumerate(tokens, 1)}
    return [
        conllu.Token(
            id=number[id(token)],
            form=token.form,
            lemma=token.lemma,
            upos=token.universal,
            xpos=None,
            feats=dict(sorted(token.features.items())) or None,
            head=0 if token.governor is None else number[id(token.governor)],
            deprel=token.relation,
            deps=None,
            misc=None if token.space_after else {"SpaceAfter": "No"},
        )
        for token in tokens
    ]
