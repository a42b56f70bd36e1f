"""What a set of sentences tests: the target words whose form depends on another word of the source sentence.

Contrastive pairs as in Sennrich 2017, "How grammatical is character-level neural machine translation?": a model is
right if it scores the correct form above each form that a sentence with another relation would need.
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headroom.data.grammar import lexicon, source, target, tree
from headroom.data.grammar.target import Choice

PHENOMENA = {
    "agreement": "the verb has the gender or number of its subject, which follows it",
    "passive": "the verb agrees with who acts, which a passive puts after `by`",
    "predicate": "a predicate adjective agrees with the subject",
    "adjective": "the first adjective agrees with its noun, past other adjectives",
    "relative": "a relative pronoun has the gender of its noun and the case of its role",
    "pronoun": "the verb of an adverbial clause agrees with `they`, the grammatical subject of the main clause",
    "object": "the verb has another stem if its object is plural",
    "particle": "a verb has another stem with a particle, which follows its object",
    "concord": "an adverb agrees with the tense of its verb",
    "name": "a name is copied letter by letter, in the spelling of the target language",
}
"""The phenomena with a description; of `name`, the expected form must be the model's first choice."""


@dataclass(frozen=True)
class Case:
    """One target word that tests a phenomenon.

    Attributes:
        phenomenon: One of `PHENOMENA`.
        word: Its position in the translation, in words separated by spaces, from 0.
        expected: Its form.
        wrong: The forms that are wrong there.
    """

    phenomenon: str
    word: int
    expected: str
    wrong: tuple[str, ...]


def cases(sentence: tree.Sentence) -> list[Case]:
    """Return the cases of a sentence in which another word of the sentence would need one of the wrong forms."""
    tokens = source.realise(sentence)
    words = [word for word in target.list_words(sentence) if word.form != ","]
    return [
        Case(choice.phenomenon, number, word.form, choice.wrong)
        for number, word in enumerate(words)
        for choice in word.choices
        if is_contested(choice, tokens)
    ]


def is_contested(choice: Choice, tokens: Sequence[source.Token]) -> bool:
    """Return whether another word of the sentence differs from the controller in what decides the form."""
    feature = _FEATURES.get(choice.phenomenon)
    if feature is None:
        return True
    own = feature(choice.controller)
    return any(feature(token.part) not in (None, own) for token in tokens)


def _agreement(part: object) -> str | None:
    match part:
        case tree.NounPhrase() | tree.Name():
            return tree.agreement(part)
        case lexicon.Noun():
            return part.gender
    return None


def _is_plural(part: object) -> bool | None:
    agreement = _agreement(part)
    return None if agreement is None else agreement == "plural"


def _tense(part: object) -> str | None:
    return target.tense(part) if isinstance(part, tree.Clause) else None


_BY_AGREEMENT = ("agreement", "passive", "predicate", "adjective", "relative", "pronoun")
_FEATURES: dict[str, Callable[[object], str | bool | None]] = {
    **dict.fromkeys(_BY_AGREEMENT, _agreement),
    "object": _is_plural,
    "concord": _tense,
}
"""What decides the form, by phenomenon; None for parts without it. Particles and names are always contested."""


COLUMNS = ("sentence", "phenomenon", "word", "expected", "wrong")


def csv_lines(of_sentences: Sequence[Sequence[Case]]) -> list[str]:
    """Return the lines of a CSV file of cases: sentences are numbered from 0, wrong forms separated by spaces."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, own in enumerate(of_sentences):
        for case in own:
            writer.writerow((number, case.phenomenon, case.word, case.expected, " ".join(case.wrong)))
    return text.getvalue().splitlines()
