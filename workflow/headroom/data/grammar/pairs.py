"""Pairs of sentences for three-way entailment, made by known edits: premise, hypothesis and label.

A hypothesis is drawn first, independent of the label, such that any label is possible. The premise is derived from
it: contradicted, changed or kept, according to the label, and strengthened by a few edits. A stronger sentence
entails its origin, so the label follows from the edits, and a hypothesis carries no information on its label. From the
perspective of the premise, the strengthening edits are removals.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from headroom.data.grammar import source
from headroom.data.grammar.changes import changes, denials, exclusions
from headroom.data.grammar.donor_phrases import DonorPhrases
from headroom.data.grammar.edits import Edit, stronger, weaker
from headroom.data.grammar.logic import are_unrelated, descriptions, exclusive, is_plain, negation, phrases
from headroom.data.grammar.sample import FAR, NEAR, Domain, Sampler
from headroom.data.grammar.tree import Sentence

LABELS = ("entailment", "neutral", "contradiction")
_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")


@dataclass(frozen=True)
class PairDomain:
    """Parameters of the pairs of a domain.

    Attributes:
        domain: The probabilities of hypotheses; `longest` is their maximum number of words.
        longest_premise: Maximum number of words of premises.
        most: Maximum number of strengthening edits.
    """

    domain: Domain
    longest_premise: int
    most: int


# hypotheses are short, premises get additional clauses
_SHORT: dict[str, Any] = {"relative": 0.0, "fronted_clause": 0.0, "trailing_clause": 0.0}
_NEAR = replace(NEAR.literal(), **_SHORT, name=0.0, adjective=0.2, adverb=0.12, oblique=0.2, fronted=0.2, longest=7)
_FAR = replace(FAR.literal(), **_SHORT, name=0.02, adjective=0.3, adverb=0.18, oblique=0.3, fronted=0.15, longest=10)
PAIR_DOMAINS = {"near": PairDomain(_NEAR, 11, most=1), "far": PairDomain(_FAR, 16, most=2)}
_WEIGHTS = {("report", "clause"): 0.25, ("contradict", "verb"): 0.5, ("exchange", "noun"): 2.0}
"""Weights of kinds of edits; 1 for all others. The rare ones leave words in the premise that reveal its label."""

_DENIED = 0.25
"""Share of hypotheses with a negation, and of contradictions that add one: a negation does not reveal the label."""


@dataclass(frozen=True)
class SentencePair:
    """A premise and a hypothesis, the label, and the edits that lead from one to the other, the decisive one first."""

    premise: Sentence
    hypothesis: Sentence
    label: str
    edits: tuple[str, ...]


class PairMaker:
    """Draws pairs of a domain. The same domain and seed give the same pairs in the same order."""

    def __init__(self, *, domain: PairDomain, seed: str):
        self._domain = domain
        self._sentences = Sampler(domain=domain.domain, seed=seed).sentences()
        self._parts = DonorPhrases(domain=domain.domain, seed=seed)
        self._random = random.Random(f"{seed} pairs")

    def pairs(self) -> Iterator[SentencePair]:
        """Yield pairs indefinitely; of three in a row each has another label."""
        while True:
            labels = list(LABELS)
            self._random.shuffle(labels)
            for label in labels:
                pair = None
                while pair is None:
                    pair = self._pair(label)
                yield pair

    def _hypothesis(self) -> tuple[Sentence, list[Edit]]:
        """Return a sentence for which every label is possible, and the edits that may contradict it."""
        denied = self._random.random() < _DENIED
        by_denial = denied or self._random.random() < _DENIED / (1 - _DENIED)
        for sentence in self._sentences:
            if denied and not negation(sentence) and (ways := denials(sentence)):
                sentence = self._random.choice(ways).apply(self._parts)
            if bool(negation(sentence)) != denied:
                continue
            contraries = denials(sentence) if by_denial else exclusions(sentence)
            if contraries and (changes(sentence) or weaker(sentence)) and self._is_fit(sentence):
                return sentence, contraries
        raise AssertionError("samplers are infinite")

    def _pair(self, label: str) -> SentencePair | None:
        """Return a pair with this label, or None if no unambiguous one was drawn."""
        hypothesis, contraries = self._hypothesis()
        core, done = hypothesis, []
        if label != "entailment":
            ways = contraries if label == "contradiction" else [*changes(hypothesis), *weaker(hypothesis)]
            done.append(self._choice(ways))
            core = done[0].apply(self._parts)
        premise = core
        for _ in range(self._random.randint(1, self._domain.most) + _loss(core, hypothesis)):
            taken = {edit.part for edit in done}
            ways = [edit for edit in stronger(premise) if edit.part not in taken]
            if not ways:
                return None
            done.append(self._choice(ways))
            premise = done[-1].apply(self._parts)
        if not (_is_clear(core) and _is_clear(premise) and _is_new(premise, core, hypothesis)):
            return None
        if len(_words(premise)) > self._domain.longest_premise:
            return None
        return SentencePair(premise, hypothesis, label, tuple(_from_premise(edit) for edit in done))

    def _is_fit(self, hypothesis: Sentence) -> bool:
        return len(_words(hypothesis)) <= self._domain.domain.longest and _is_clear(hypothesis)

    def _choice(self, ways: Sequence[Edit]) -> Edit:
        """Return an edit: first its kind, by weight, then one of that kind."""
        kinds = sorted({(edit.how, edit.part) for edit in ways})
        (kind,) = self._random.choices(kinds, [_WEIGHTS.get(kind, 1.0) for kind in kinds])
        return self._random.choice([edit for edit in ways if (edit.how, edit.part) == kind])


def _is_clear(sentence: Sentence) -> bool:
    words = _content(sentence)
    possible = all(
        other.word not in exclusive(one.word)
        for role in phrases(sentence)
        for one, other in product(descriptions(sentence, role), repeat=2)
    )
    return is_plain(sentence) and len(set(words)) == len(words) and possible


def _loss(core: Sentence, hypothesis: Sentence) -> int:
    """Return 1 for a core shorter than the hypothesis, -1 for a longer one, to equalise the length of premises."""
    lengths = len(_words(core)), len(_words(hypothesis))
    return (lengths[0] < lengths[1]) - (lengths[0] > lengths[1])


def _is_new(premise: Sentence, core: Sentence, hypothesis: Sentence) -> bool:
    """Return whether the strengthening words of the premise are unrelated to the other words."""
    old = {*_content(core), *_content(hypothesis)}
    new = set(_content(premise)) - set(_content(core))
    return all(are_unrelated(word, other) for word in new for other in old)


def _from_premise(edit: Edit) -> str:
    """Return the name of an edit seen from the premise: additions to it are removals in the hypothesis."""
    how = {"add": "drop", "drop": "add"}.get(edit.how, edit.how)
    return f"{how}-{edit.part}"


def _content(sentence: Sentence) -> list[str]:
    return [token.lemma for token in source.realise(sentence) if token.universal in _CONTENT]


def _words(sentence: Sentence) -> list[str]:
    return build_text(sentence).split()


def build_text(sentence: Sentence) -> str:
    """Return the plain text of a sentence."""
    return source.text(source.realise(sentence))
