"""Generated text: labels are true in small worlds, nothing but the meaning tells them, and no sentence occurs twice.

A world has three things of every noun. `the` and `this` mean the first of them, or all three in the plural. What
adjectives, adverbs and prepositional phrases say is a fact or not; a clause is true if an event of the world fits it.
Quantifiers take scope from left to right. Words that exclude each other are never both true. Nothing here uses the
code of edits: it is an oracle for entailment.
"""

import random
import re
from collections import Counter
from itertools import islice, product

import pytest
from headroom.data.grammar import source
from headroom.data.grammar.changes import changes, denials, exclusions
from headroom.data.grammar.donor_phrases import DonorPhrases
from headroom.data.grammar.edits import stronger, weaker
from headroom.data.grammar.pairs import LABELS, PAIR_DOMAINS, PairMaker, _is_clear, build_text
from headroom.data.grammar.sample import FAR, NEAR, Sampler
from headroom.data.grammar.tree import Coordination, Name, NounPhrase, PrepositionalPhrase, Sentence, Subordinate
from headroom.data.providers.generated import generate_sets
from headroom.data.providers.generated_pairs import generate_pair_sets
from headroom.settings.labelled import GeneratedPairs
from headroom.settings.parallel import GeneratedCorpus

COUNT = 3
EXCLUSIVE_ADJECTIVES = [
    {"red", "black", "green"}, {"old", "young"}, {"old", "new"}, {"small", "big"}, {"wooden", "golden"},
    {"secret", "famous"},
]  # fmt: skip
EXCLUSIVE_PLACES = [{"in", "outside"}, {"before", "behind"}]
EXCLUSIVE_EVENTS = [
    {"push", "pull"}, {"attack", "defend"}, {"accuse", "defend"}, {"arrive", "depart"}, {"wait", "arrive"},
    {"wait", "depart"}, {"arrive", "vanish"}, {"wait", "vanish"},
    *({"snore", verb} for verb in ["laugh", "talk", "dance", "work", "stumble", "limp", "protest", "depart", "arrive"]),
    *({f"be {word}" for word in words} for words in EXCLUSIVE_ADJECTIVES),
]  # fmt: skip


class World:
    """Facts drawn at random about what two sentences mention."""

    def __init__(self, sentences, seed):
        self.random = random.Random(seed)
        self.density = self.random.choice((0.05, 0.3, 0.7, 0.97))
        self.facts = {}
        self.events = []
        for clause in [clause for sentence in sentences for clause in clauses(sentence)]:
            self._happen(*clause)
        self.random.shuffle(self.events)
        self.events = [event for place, event in enumerate(self.events) if self._fits(event, self.events[:place])]

    def holds(self, *fact):
        """Return whether a fact holds; one of a group of exclusive adjectives at most does."""
        if fact not in self.facts:
            rivals = [w for group in EXCLUSIVE_ADJECTIVES if fact[0] in group for w in group if w != fact[0]]
            self.facts[fact] = not any(
                self.holds(rival, *fact[1:]) for rival in rivals if (rival, *fact[1:]) in self.facts
            )
            self.facts[fact] &= self.random.random() < 0.7
        return self.facts[fact]

    def _happen(self, clause, places, adverbs, gap):
        """Let some events of a clause's kind happen, between things of its nouns."""
        roles = [
            gap if nominal is None else words(nominal) for nominal in (clause.subject, clause.object, clause.recipient)
        ]
        roles = [[(word, number) for word in role for number in range(COUNT)] or [None] for role in roles]
        for who in product(*roles):
            if self.random.random() < self.density:
                where = {
                    (p.preposition.word, (word, n)) for p in places for word in words(p.nominal) for n in range(COUNT)
                }
                where = {place for place in sorted(where) if self.random.random() < 0.8}
                how = {adverb for adverb in adverbs if self.random.random() < 0.7}
                self.events.append((kind(clause), who, where, how))

    def _fits(self, event, others):
        """Return whether an event is compatible with others; merely possible events exclude nothing."""
        (modal, verb, _), (subject, *rest), where, _ = event
        if modal == "can":
            return True
        for (modal_, verb_, _), (subject_, *rest_), where_, _ in [event, *others]:
            if modal_ == "can" or subject_ != subject:
                continue
            if any(verb != verb_ and {verb, verb_} <= group for group in EXCLUSIVE_EVENTS) and rest == rest_:
                return False
            for place, other in product(where, where_):
                if place[1] == other[1] and any(
                    place[0] != other[0] and {place[0], other[0]} <= group for group in EXCLUSIVE_PLACES
                ):
                    return False
        return True


def is_true(sentence, world):
    """Return whether a sentence is true in a world."""
    adverbs = [item.word for item in (sentence.fronted,) if item is not None and hasattr(item, "word")]
    places = [item for item in (sentence.fronted,) if isinstance(item, PrepositionalPhrase)]
    joined = [item for item in (sentence.fronted, sentence.trailing) if isinstance(item, Subordinate)]
    assert all(one.conjunction.word in ("because", "although") for one in joined)
    return all(_clause(one.clause, world, [], [], {}) for one in joined) and _clause(
        sentence.clause, world, adverbs, places, {}
    )


def _clause(clause, world, adverbs, places, gap):
    """Return whether a clause is true; `gap` gives what a relative pronoun stands for, by its role."""
    presupposed = (clause.subject, clause.object, clause.recipient, clause.oblique and clause.oblique.nominal)
    if not all(_presupposition(nominal, world) for nominal in (*presupposed, *(place.nominal for place in places))):
        return False
    adverbs = [*adverbs, *([clause.adverb.word] if clause.adverb else [])]
    places = [*places, *([clause.oblique] if clause.oblique else [])]
    never, adverbs = "never" in adverbs, [adverb for adverb in adverbs if adverb != "never"]

    def happens(subject):
        return _any_event(clause, world, adverbs, places, {**gap, "subject": subject})

    return _for(clause.subject, world, gap.get("subject"), lambda subject: happens(subject) != never)


def _any_event(clause, world, adverbs, places, known):
    def fits(event, who):
        label, actors, where, how = event
        return (
            label == kind(clause)
            and actors == who
            and all(adverb in how for adverb in adverbs)
            and all(_for(p.nominal, world, None, lambda x, p=p: (p.preposition.word, x) in where) for p in places)
        )

    return _for(clause.object, world, known.get("object"), lambda thing:
        _for(clause.recipient, world, None, lambda receiver:
            any(fits(event, (known["subject"], thing, receiver)) for event in world.events)))  # fmt: skip


def _for(nominal, world, known, says):
    """Return whether a predicate holds for a nominal: for the first, all, some, two, three or none of its kind."""
    match nominal:
        case None:
            return says(known)
        case Name(spelling):
            return says((spelling, 0))
        case Coordination(first, second):
            return _for(first, world, None, says) and _for(second, world, None, says)
    things = [(nominal.noun.word, number) for number in range(COUNT)]
    determiner = nominal.determiner.singular or nominal.determiner.plural
    if determiner in ("the", "this"):
        return all(says(thing) for thing in (things if nominal.plural else things[:1]))
    fitting = [thing for thing in things if _described(nominal, thing, world)]
    count = sum(bool(says(thing)) for thing in fitting)
    return {
        "every": bool(fitting) and count == len(fitting), "no": count == 0, "a": count >= 1, "two": count >= 2,
        "three": count >= 3,
    }[determiner]  # fmt: skip


def _presupposition(nominal, world):
    """Return whether what a definite phrase takes for granted holds."""
    if isinstance(nominal, Coordination):
        return _presupposition(nominal.first, world) and _presupposition(nominal.second, world)
    if not isinstance(nominal, NounPhrase) or (nominal.determiner.singular or "") not in ("the", "this"):
        return True
    numbers = range(COUNT if nominal.plural else 1)
    return all(_described(nominal, (nominal.noun.word, number), world) for number in numbers)


def _described(phrase, thing, world):
    """Return whether a thing is as the adjectives, the prepositional phrase and the relative clause of a phrase say."""
    if not all(world.holds(adjective.word, thing) for adjective in phrase.adjectives):
        return False
    if phrase.modifier is not None:
        preposition = phrase.modifier.preposition.word
        near = "with" if preposition == "without" else preposition
        nominal = phrase.modifier.nominal
        related = _for(nominal, world, None, lambda other: world.holds(near, thing, other))
        if not _presupposition(nominal, world) or related == (preposition == "without"):
            return False
    return phrase.relative is None or _clause(phrase.relative.clause, world, [], [], {phrase.relative.role: thing})


def kind(clause):
    """Return the properties of events that match a clause: modal, verb, and content if any."""
    verb = f"be {clause.predicate.word}" if clause.predicate else clause.verb.word
    said = None if clause.content is None else source.text(source.realise(Sentence(clause.content)))
    return (clause.modal and clause.modal.word, verb, said)


def words(nominal):
    """Return the nouns and names that a nominal is about."""
    match nominal:
        case None:
            return []
        case Coordination(first, second):
            return [*words(first), *words(second)]
        case Name(spelling):
            return [spelling]
    return [nominal.noun.word]


def clauses(sentence):
    """Return every clause outside content clauses: with its places, adverbs and the nouns that its gap stands for."""
    fronted = sentence.fronted
    places = [fronted] if isinstance(fronted, PrepositionalPhrase) else []
    adverbs = [fronted.word] if hasattr(fronted, "word") else []
    found = [(sentence.clause, places, adverbs, [])]
    found += [(one.clause, [], [], []) for one in (fronted, sentence.trailing) if isinstance(one, Subordinate)]
    for clause, *_ in list(found):
        for nominal in (clause.subject, clause.object):
            if isinstance(nominal, NounPhrase) and nominal.relative is not None:
                found.append((nominal.relative.clause, [], [], [nominal.noun.word]))
    return [
        (
            clause,
            [*places, *([clause.oblique] if clause.oblique else [])],
            [*adverbs, *([clause.adverb.word] if clause.adverb and clause.adverb.word != "never" else [])],
            gap,
        )
        for clause, places, adverbs, gap in found
    ]


WORLDS = 12


@pytest.fixture(scope="module")
def sentences():
    """Return 30 clear sentences of each domain, the far ones with relative and adverbial clauses."""
    found = []
    for domain in (NEAR, FAR):
        drawn = Sampler(domain=domain.literal(), seed="worlds").sentences()
        short = (s for s in drawn if len(build_text(s).split()) <= 10)
        found += islice((s for s in short if _is_clear(s) and "when" not in str(s) and "while" not in str(s)), 30)
    return found


@pytest.mark.parametrize(
    ("edits", "impossible", "seen"),
    [
        (stronger, (True, False), 200),
        (weaker, (False, True), 60),
        (lambda given: [*denials(given), *exclusions(given)], (True, True), 20),
    ],
)
def test_truth_in_small_worlds(sentences, edits, impossible, seen):
    """Of an edited and its original sentence, some truth values never come together."""
    parts = DonorPhrases(domain=NEAR, seed="worlds")
    true = 0
    for given in sentences[::2]:
        for edit in edits(given):
            edited = edit.apply(parts)
            for number in range(WORLDS):
                world = World((given, edited), number)
                values = (is_true(edited, world), is_true(given, world))
                assert values != impossible, f"{build_text(edited)} | {build_text(given)}"
                true += values[0]
    assert true > seen


@pytest.mark.parametrize("edits", [changes, weaker])
def test_neither_weaker_nor_changed_sentences_entail(sentences, edits):
    """Of every kind of edit that is frequent, some result is true together with its original and some without it."""
    parts = DonorPhrases(domain=NEAR, seed="worlds")
    kinds = {}
    for given in sentences:
        for edit in edits(given):
            edited = edit.apply(parts)
            worlds = [World((given, edited), number) for number in range(WORLDS)]
            values = {(is_true(edited, world), is_true(given, world)) for world in worlds}
            kinds.setdefault((edit.how, edit.part), []).append(values)
    frequent = {kind: set.union(*values) for kind, values in kinds.items() if len(values) >= 8}
    assert len(frequent) >= 5
    for kind, values in frequent.items():
        assert {(True, True), (True, False)} <= values, kind


@pytest.fixture(scope="module")
def sets():
    return generate_sets(GeneratedCorpus(seed=3, train=1500, valid=201, test=150, far=150))


@pytest.fixture(scope="module")
def pair_sets():
    return generate_pair_sets(GeneratedPairs(seed=3, train=900, valid=99, test=300, far=150))


def test_labels_are_balanced(pair_sets):
    for name in ("train", "test", "far"):
        assert set(Counter(pair_sets[name].labels).values()) == {len(pair_sets[name]) // 3}
    both = Counter(pair_sets["choose"].labels + pair_sets["check"].labels)
    assert both == dict.fromkeys(LABELS, 33)


def test_no_sentence_occurs_twice_anywhere(sets, pair_sets):
    for sentences in (
        [line for pair in sets.values() for line in pair.source],
        [line for pairs in pair_sets.values() for line in pairs.first],
    ):
        assert len(set(sentences)) == len(sentences)
    assert all(first != second for pairs in pair_sets.values() for first, second in pairs.inputs)


@pytest.mark.parametrize(
    ("generate", "settings"), [(generate_sets, GeneratedCorpus), (generate_pair_sets, GeneratedPairs)]
)
def test_more_training_text_leaves_the_evaluation_sets_alone_and_another_seed_changes_all(generate, settings):
    few = settings(seed=3, train=60, valid=21, test=30, far=30)
    sets, larger, other = (generate(few.model_copy(update=one)) for one in ({}, {"train": 90}, {"seed": 4}))
    for name in ("choose", "check", "test", "far"):
        assert larger[name].parts == sets[name].parts
        assert larger[name].files("x") == sets[name].files("x")
        assert len({*other[name].parts[0]} & {*sets[name].parts[0]}) < 0.2 * len(sets[name])
    assert [side[:60] for side in larger["train"].parts] == [*sets["train"].parts]


@pytest.mark.parametrize("side", ["first", "second"])
def test_one_sentence_alone_tells_little_of_the_label(pair_sets, side):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\w+")
    known = vectorizer.fit_transform(getattr(pair_sets["train"], side))
    guesser = LogisticRegression(C=0.1, max_iter=300).fit(known, pair_sets["train"].labels)
    for name in ("test", "far"):
        new = vectorizer.transform(getattr(pair_sets[name], side))
        assert guesser.score(new, pair_sets[name].labels) <= 0.45


def test_words_in_common_do_not_tell_the_label(pair_sets):
    """Of the hypotheses with only words of their premise, at most two thirds have the same label."""
    contained = Counter()
    for (premise, hypothesis), label in zip(pair_sets["train"].inputs, pair_sets["train"].labels, strict=True):
        contained[label] += words_of(hypothesis) <= words_of(premise)
    assert all(contained[label] > 0.0267 * len(pair_sets["train"]) for label in LABELS), contained
    assert contained["entailment"] < 0.85 * sum(contained.values())
    assert contained["entailment"] < 0.95 * len(pair_sets["train"]) / 3


@pytest.mark.parametrize("topic", ["near", "far"])
def test_labels_are_true_in_small_worlds(topic):
    """Where the premise is true, the hypothesis is always, never, or now and then, as the label says."""
    neutral, reported = Counter(), 0
    for pair in islice(PairMaker(domain=PAIR_DOMAINS[topic], seed="worlds").pairs(), 45):
        worlds = [World((pair.premise, pair.hypothesis), number) for number in range(20)]
        values = {is_true(pair.hypothesis, world) for world in worlds if is_true(pair.premise, world)}
        reported += bool(values)
        if pair.label == "neutral":
            neutral.update(values)
        else:
            assert values <= {pair.label == "entailment"}, f"{build_text(pair.premise)} | {build_text(pair.hypothesis)}"
    assert reported >= 15
    assert min(neutral[True], neutral[False]) >= 4


def words_of(line):
    return set(re.findall(r"\w+", line.lower()))


def test_the_far_domain_is_longer_with_other_words_and_constructions(sets):
    near, far = ([token for tree in sets[name].trees for token in tree] for name in ("train", "far"))
    length, longer = (len(tokens) / len(sets[name]) for name, tokens in (("train", near), ("far", far)))
    assert longer > 1.2 * length
    for relation in ("acl:relcl", "ccomp", "conj", "amod"):
        in_near, in_far = (sum(token.relation == relation for token in tokens) for tokens in (near, far))
        assert in_far / len(sets["far"]) > 1.3 * in_near / len(sets["train"])
    known, new = (
        Counter(token.lemma for token in tokens if token.universal in ("NOUN", "VERB", "ADJ")) for tokens in (near, far)
    )
    assert sum(count / known.total() > 2 * new[word] / new.total() for word, count in known.most_common(100)) > 10
    assert len({*new} - {*known}) < 0.05 * len(new), "words of the far domain occur in training"
