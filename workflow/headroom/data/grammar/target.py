"""The target language: the verb opens its clause, and agrees with words that only follow it.

An adverbial clause precedes the main clause, adverbs and the predicate precede the verb, adjectives precede the
determiner, and a passive is translated as an active. So most agreement is with a word that is not yet written: it
can be read only from the source sentence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headroom.data.grammar import lexicon, tree
from headroom.data.grammar.lexicon import AGREEMENTS, Plain, transliterate


@dataclass(frozen=True)
class Choice:
    """What the form of a target word depends on.

    Attributes:
        phenomenon: The kind of dependence, one of `headroom.data.grammar.phenomena.PHENOMENA`.
        wrong: The forms of the same word that other sentences need.
        controller: The clause or the nominal, in the source sentence, whose verb or noun the form depends on.
    """

    phenomenon: str
    wrong: tuple[str, ...]
    controller: object


@dataclass(frozen=True)
class Word:
    """A word of a translation with the choices behind its form."""

    form: str
    choices: tuple[Choice, ...] = ()


def translate(sentence: tree.Sentence) -> str:
    """Return the one translation of a sentence as plain text; only names begin with a capital letter."""
    return " ".join(word.form for word in list_words(sentence)).replace(" ,", ",") + "."


def list_words(sentence: tree.Sentence) -> list[Word]:
    """Return the words of the translation, commas included."""
    return _Writer(sentence).sentence()


class _Writer:
    """Translates one sentence; the antecedent of its pronouns is known."""

    def __init__(self, sentence: tree.Sentence):
        self._sentence = sentence

    def sentence(self) -> list[Word]:
        """Return the adverbial clause and the main clause."""
        sentence = self._sentence
        joined = sentence.trailing or (sentence.fronted if isinstance(sentence.fronted, tree.Subordinate) else None)
        words = [] if joined is None else [Word(joined.conjunction.target), *self._clause(joined.clause), Word(",")]
        adverb = [sentence.fronted] if isinstance(sentence.fronted, Plain) else []
        place = [sentence.fronted] if isinstance(sentence.fronted, tree.PrepositionalPhrase) else []
        return words + self._clause(sentence.clause, adverbs=adverb, places=place)

    def _clause(
        self,
        clause: tree.Clause,
        *,
        antecedent: tree.NounPhrase | None = None,
        adverbs: list[Plain] | None = None,
        places: list[tree.PrepositionalPhrase] | None = None,
    ) -> list[Word]:
        """Return adverbs, predicate, verb, subject, recipient, object, obliques and content clause, in this order."""
        adverbs = [*(adverbs or []), *([] if clause.adverb is None else [clause.adverb])]
        places = [*(places or []), *([] if clause.oblique is None else [clause.oblique])]
        words = [self._adverb(adverb, clause) for adverb in adverbs]
        words += self._verb(clause, antecedent)
        words += [] if clause.subject is None else self._nominal(clause.subject, "nom")
        words += [] if clause.recipient is None else self._nominal(clause.recipient, "dat")
        words += [] if clause.object is None else self._nominal(clause.object, clause.verb.government)
        words += [word for place in places for word in self._prepositional(place)]
        if clause.content is not None:
            words += [Word(lexicon.THAT.target), *self._clause(clause.content)]
        return words

    def _adverb(self, adverb: Plain, clause: tree.Clause) -> Word:
        own = tense(clause)
        others = tuple(lexicon.adverb_form(adverb, other) for other in lexicon.TENSES if other != own)
        choice = Choice("concord", others, clause)
        return Word(lexicon.adverb_form(adverb, own), (choice,))

    def _verb(self, clause: tree.Clause, antecedent: tree.NounPhrase | None) -> list[Word]:
        """Return the predicate, the finite verb and the infinitive."""
        agrees = clause.agreement
        words = []
        if clause.predicate is not None:
            stem = clause.predicate.stem
            forms = {other: stem + lexicon.adjective_ending(other, "nom") for other in AGREEMENTS}
            words.append(Word(forms[agrees], self._agreement("predicate", clause, forms, antecedent)))
        stem = verb_stem(clause, antecedent)
        finite = {
            other: lexicon.finite(clause.modal.target if clause.modal else stem, clause.tense, other)
            for other in AGREEMENTS
        }
        choices = () if words else self._agreement("agreement", clause, finite, antecedent)
        if clause.modal is None:
            lexical = self._lexical(clause, antecedent, lambda other: lexicon.finite(other, clause.tense, agrees))
            return [*words, Word(finite[agrees], (*choices, *lexical))]
        lexical = self._lexical(clause, antecedent, lexicon.infinitive)
        return [*words, Word(finite[agrees], choices), Word(lexicon.infinitive(stem), lexical)]

    def _agreement(
        self, phenomenon: str, clause: tree.Clause, forms: Mapping[str, str], antecedent: tree.NounPhrase | None
    ) -> tuple[Choice, ...]:
        wrong = tuple(form for other, form in forms.items() if other != clause.agreement)
        if isinstance(clause.subject, tree.Pronoun):
            return (Choice("pronoun", wrong, _head_of(self._sentence.clause.topic)),)
        name = "passive" if clause.passive else phenomenon
        return (Choice(name, wrong, _head_of(clause.subject or antecedent)),)

    def _lexical(
        self, clause: tree.Clause, antecedent: tree.NounPhrase | None, inflected: Callable[[str], str]
    ) -> tuple[Choice, ...]:
        """Return the choice of a stem by the object or the particle."""
        verb = clause.verb
        if not verb.of_many:
            return ()
        stems = {"": (verb.stem, verb.of_many)} | {
            particle: (stem,) for particle, stem in lexicon.list_particle_stems().get(verb.word, {}).items()
        }
        right = verb_stem(clause, antecedent)
        if clause.particle:
            others = [stem for own in stems.values() for stem in own if stem != right]
            return (Choice("particle", tuple(map(inflected, others)), clause),)
        others = [stem for stem in stems[""] if stem != right]
        return (Choice("object", tuple(map(inflected, others)), _head_of(clause.object or antecedent)),)

    def _nominal(self, nominal: tree.Nominal, case: str) -> list[Word]:
        match nominal:
            case tree.Name(spelling):
                return [Word(transliterate(spelling), (Choice("name", (), nominal),))]
            case tree.Coordination(first, second):
                return [*self._nominal(first, case), Word(lexicon.AND.target), *self._nominal(second, case)]
            case tree.Pronoun(agrees):
                return [Word(lexicon.PRONOUN_STEM + lexicon.determiner_ending(agrees, case))]
            case tree.NounPhrase():
                return self._noun_phrase(nominal, case)

    def _noun_phrase(self, phrase: tree.NounPhrase, case: str) -> list[Word]:
        agrees = tree.agreement(phrase)
        words = [Word(adjective.stem + lexicon.adjective_ending(agrees, case)) for adjective in phrase.adjectives]
        if words:
            forms = [phrase.adjectives[0].stem + lexicon.adjective_ending(other, case) for other in AGREEMENTS]
            wrong = tuple(dict.fromkeys(form for form in forms if form != words[0].form))
            words[0] = Word(words[0].form, (Choice("adjective", wrong, phrase),))
        words += [Word(phrase.determiner.target(agrees, case)), Word(phrase.noun.target(phrase.plural))]
        words += [] if phrase.compound is None else [Word(phrase.compound.modifying)]
        if phrase.modifier is not None:
            words += self._prepositional(phrase.modifier)
        if phrase.relative is not None:
            words += self._relative(phrase.relative, phrase)
        return words

    def _relative(self, relative: tree.Relative, antecedent: tree.NounPhrase) -> list[Word]:
        case = "nom" if relative.role == "subject" else relative.clause.verb.government
        endings = {lexicon.determiner_ending(agrees, of): None for agrees in AGREEMENTS for of in lexicon.CASES}
        right = lexicon.determiner_ending(tree.agreement(antecedent), case)
        wrong = tuple(lexicon.RELATIVE_STEM + ending for ending in endings if ending != right)
        pronoun = Word(lexicon.RELATIVE_STEM + right, (Choice("relative", wrong, antecedent),))
        return [pronoun, *self._clause(relative.clause, antecedent=antecedent)]

    def _prepositional(self, phrase: tree.PrepositionalPhrase) -> list[Word]:
        return [Word(phrase.preposition.target), *self._nominal(phrase.nominal, phrase.preposition.case)]


def verb_stem(clause: tree.Clause, antecedent: tree.NounPhrase | None = None) -> str:
    """Return the target stem of a clause's verb: by its particle, else by the number of its object."""
    verb, objects = clause.verb, clause.object or antecedent
    if clause.particle:
        return lexicon.list_particle_stems()[verb.word][clause.particle]
    many = objects is not None and tree.agreement(objects) == "plural"
    return verb.of_many if verb.of_many and many else verb.stem


def tense(clause: tree.Clause) -> str:
    """Return what adverbs of a clause agree with: `present`, `past` or `modal`."""
    return "modal" if clause.modal else clause.tense


def _head_of(nominal: tree.Nominal | None) -> tree.Nominal | None:
    """Return the nominal whose noun heads one in the source: the first one of a coordination."""
    return nominal.first if isinstance(nominal, tree.Coordination) else nominal
