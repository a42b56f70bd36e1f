"""Edits against hand-made sentences, and against truth in small worlds."""

from itertools import islice

import pytest
from hand_made_sentences import adverb, phrase, place
from headroom.data.grammar import lexicon, logic, vocabulary
from headroom.data.grammar.changes import changes, denials, exclusions
from headroom.data.grammar.donor_phrases import DonorPhrases
from headroom.data.grammar.edits import stronger, weaker
from headroom.data.grammar.lexicon import MODALS, OF_NOUNS, OF_VERBS
from headroom.data.grammar.logic import direction, is_plain, negation
from headroom.data.grammar.pairs import _is_clear, build_text
from headroom.data.grammar.sample import FAR, NEAR, Sampler
from headroom.data.grammar.tree import Clause, Coordination, Name, Sentence
from small_worlds import World, is_true

WORLDS = 12


def sentence(subject, verb, thing=None, *, how=None, where=None, modal=None, be=None, fronted=None):
    """Return a sentence in the past tense; `be` gives the predicate of a copula."""
    clause = Clause(
        lexicon.BE if be else logic.verb(verb),
        phrase(subject) if isinstance(subject, str) else subject,
        tense="past",
        object=phrase(thing) if isinstance(thing, str) else thing,
        predicate=logic.adjective(be) if be else None,
        adverb=how and adverb(how),
        oblique=where and place(where),
        modal=modal and next(one for one in MODALS if one.word == modal),
    )
    return Sentence(clause, fronted and (place(fronted) if " " in fronted else adverb(fronted)))


@pytest.fixture
def parts():
    return DonorPhrases(domain=NEAR, seed="parts")


def results(edits, parts, *, how=None):
    return {build_text(edit.apply(parts)) for edit in edits if how is None or edit.how == how}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            sentence("the old hungry dog", "snore", how="often", where="in the garden"),
            {
                "The hungry dog often snored in the garden.",
                "The old dog often snored in the garden.",
                "The old hungry dog snored in the garden.",
                "The old hungry dog often snored.",
            },
        ),
        (sentence(phrase("a dog", place("near the cat")), "call", "three red birds"),
         {"A dog called three red birds.", "A dog near the cat called three birds."}),
        (sentence(Coordination(phrase("the cat"), Name("Pima")), "smile"), {"The cat smiled.", "Pima smiled."}),
        (sentence("no old dog", "snore", where="in a garden"), set()),
        (sentence("every old dog", "call", "the old cat"), {"Every old dog called the cat."}),
        (sentence("the old dog", "call", "a young cat", how="never", where="in a garden"),
         {"The dog never called a young cat in a garden."}),
        (sentence("the old dog", "call", "the young cat", how="never"), {"The dog never called the young cat."}),
        (sentence("the dog", "smile", fronted="behind a house"), {"The dog smiled."}),
        (sentence("the dog", "smile", fronted="today"), {"The dog smiled."}),
    ],
)  # fmt: skip
def test_what_may_be_dropped(given, expected, parts):
    assert results(weaker(given), parts, how="drop") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sentence("no old dog", "snore", where="in a garden"),
         {"No dog snored in a garden.", "No old dog snored."}),
        (sentence("the old dog", "call", "a young cat", how="never", where="in the garden"),
         {"The old dog never called a cat in the garden.", "The old dog never called a young cat."}),
        (sentence("the dog", "smile", how="never", where="in the old garden"), set()),
        (sentence("the dog", "call", "no young cat", how="often"), {"The dog often called no cat."}),
        (sentence("no dog", "smile", how="often"), {"No dog smiled."}),
        (sentence("the old dog", "snore", where="in a garden"), set()),
    ],
)  # fmt: skip
def test_what_follows_from_less_under_a_negation(given, expected, parts):
    assert results(stronger(given), parts, how="drop") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sentence("the dog", "smile"), {"The dog never smiled.", "No dog smiled."}),
        (sentence("a dog", "smile"), {"No dog smiled."}),
        (sentence("two dogs", "smile", how="often"), {"No dogs often smiled."}),
        (sentence("the dog", "call", "a cat"),
         {"The dog never called a cat.", "No dog called a cat.", "The dog called no cat."}),
        (sentence("the dog", "call", "a cat", how="often"),
         {"The dog never called a cat.", "No dog often called a cat."}),
        (sentence("the dog", "call", "a cat", modal="can"),
         {"The dog can never call a cat.", "No dog can call a cat."}),
        (sentence("a dog", "smile", how="never"), set()),
        (sentence("no dog", "smile"), {"The dog smiled.", "A dog smiled.", "This dog smiled."}),
        (sentence("a dog", "call", "no cat"), set()),
        (sentence(Name("Pima"), "smile", fronted="often"), {"Pima never smiled."}),
    ],
)  # fmt: skip
def test_what_denies(given, expected, parts):
    assert results(denials(given), parts) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sentence("the red dog", "smile"), {"The black dog smiled.", "The green dog smiled."}),
        (sentence("a red dog", "smile"), set()),
        (sentence("the old new dog", "smile"), {"The young new dog smiled."}),
        (sentence("the dog", "", be="old"), {"The dog was young.", "The dog was new."}),
        (sentence("the new dog", "", be="old"), {"The new dog was young."}),
        (sentence("every dog", "", be="big"), {"Every dog was small."}),
        (sentence("some dogs", "", be="big"), set()),
        (sentence("the dog", "", be="big", modal="can"), set()),
        (sentence("the dog", "", be="big", how="often"), set()),
        (sentence("the dog", "smile", where="in the garden"), {"The dog smiled outside the garden."}),
        (sentence("the dog", "smile", where="in a garden"), set()),
        (sentence("the dog", "push", "the cart"), {"The dog pulled the cart."}),
        (sentence("the dog", "push", "a cart"), set()),
        (sentence("the dog", "push", "the cart", how="never"), set()),
        (sentence(phrase("the dog", place("with a bell")), "smile"), {"The dog without a bell smiled."}),
        (sentence(phrase("a dog", place("with a bell")), "smile"), set()),
    ],
)  # fmt: skip
def test_what_excludes(given, expected, parts):
    assert results(exclusions(given), parts) == expected


def test_roles_and_adjectives_change_places(parts):
    found = changes(sentence("the old dog", "call", "two cats"))
    assert results(found, parts, how="swap") == {"Two cats called the old dog."}
    assert results(found, parts, how="move") == {"The dog called two old cats."}
    assert results(changes(sentence("the dog", "call", "the cart")), parts, how="swap") == set()
    # "every dog called two old cats" does entail "every old dog called two cats" if there is one
    assert results(changes(sentence("every old dog", "call", "two cats")), parts, how="move") == set()


@pytest.mark.parametrize(
    ("given", "denied", "subject", "thing"),
    [
        (sentence("a dog", "call", "a cat"), "", 1, 1),
        (sentence("the dog", "call", "the cat", how="never"), "never", 1, 0),
        (sentence("a dog", "call", "two cats", how="never"), "never", 1, -1),
        (sentence("no dog", "call", "a cat"), "subject", -1, -1),
        (sentence("a dog", "call", "no cat"), "object", 1, -1),
        (sentence("every dog", "call", "every cat"), "", 0, 0),
    ],
)
def test_directions(given, denied, subject, thing):
    assert negation(given) == denied
    assert (direction(given, "subject"), direction(given, "object")) == (subject, thing)


@pytest.mark.parametrize(
    "given",
    [
        sentence("no dog", "call", "no cat"),
        sentence("no dog", "smile", how="never"),
        sentence("the dog", "smile", how="rarely"),
        sentence("the dog", "smile", where="in no garden"),
        sentence("the dog", "smile", fronted="never"),
        sentence(phrase("the dog", place("with every bell")), "smile"),
        sentence(Coordination(phrase("no dog"), phrase("the cat")), "smile"),
    ],
)
def test_sentences_of_more_than_one_reading_are_refused(given):
    assert not is_plain(given)


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


def test_words_of_the_tables_are_in_the_lexicon():
    known = {entry.split("=")[0] for table in vocabulary.TABLES.values() for entry in table}
    known |= {one.word for one in (*OF_NOUNS, *OF_VERBS)}
    named = {*(logic._EXCLUSIVE + logic._RELATED).replace(",", " ").split()}
    assert named <= known
    assert logic.exclusive("old") == ("young", "new")
    assert logic.exclusive("dog") == ()
    assert all(word in logic.exclusive(other) for word in named for other in logic.exclusive(word))


@pytest.mark.parametrize(
    ("word", "other", "free"),
    [
        ("old", "red", True),
        ("old", "old", False),
        ("old", "young", False),
        ("wash", "clean", False),
        ("hen", "cow", True),
    ],
)
def test_unrelated_words(word, other, free):
    assert logic.are_unrelated(word, other) is free
