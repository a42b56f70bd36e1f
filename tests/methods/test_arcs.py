import random

from headroom.data.trees import ParsedSentence, Word
from headroom.methods.syntax import arcs_of, best_offset, hits_at, moved, targets
from planted import tree

# The small old dog sees cats
DOG = tree(
    ("The", 3, "det"), ("small", 3, "amod"), ("old", 3, "amod"), ("dog", 4, "nsubj"), ("sees", None, "root"),
    ("cats", 4, "obj"),
)  # fmt: skip
ALL = frozenset(range(6))


def test_a_governor_is_asked_once_for_all_its_dependents():
    assert arcs_of(DOG, "amod:to-dependent", ALL) == {3: {1, 2}}
    assert arcs_of(DOG, "amod:to-governor", ALL) == {1: {3}, 2: {3}}
    assert arcs_of(DOG, "nsubj:to-dependent", ALL) == {4: {3}}
    assert arcs_of(DOG, "advmod:to-governor", ALL) == {}


def test_words_without_a_piece_are_neither_asked_nor_right():
    assert arcs_of(DOG, "amod:to-dependent", {0, 2, 3, 4}) == {3: {2}}
    assert arcs_of(DOG, "nsubj:to-governor", {0, 1, 2, 3}) == {}


def test_places_are_those_of_units_and_an_arc_within_one_is_none():
    words = (("I", 0, 1, 3, "nsubj"), ("do", 2, 7, 3, "aux"), ("n't", 2, 7, 1, "advmod"), ("go", 8, 10, None, "root"))
    sentence = ParsedSentence("I don't go", tuple(Word(*word) for word in words))
    assert arcs_of(sentence, "nsubj:to-governor", {0, 1, 2}) == {0: {2}}
    assert arcs_of(sentence, "advmod:to-governor", {0, 1, 2}) == {}


def test_a_subtype_is_a_relation_of_its_own():
    sentence = tree(("Cats", 2, "nsubj:pass"), ("were", 2, "aux:pass"), ("seen", None, "root"))
    assert arcs_of(sentence, "nsubj:to-governor", {0, 1, 2}) == {}
    assert arcs_of(sentence, "nsubj:pass:to-governor", {0, 1, 2}) == {0: {2}}
    assert targets(["nsubj:pass"]) == ["nsubj:pass:to-dependent", "nsubj:pass:to-governor"]


def test_moved_arcs_keep_their_distances_and_leave_their_place():
    arcs = {3: frozenset({1, 2})}
    for seed in range(20):
        (place,) = found = moved(arcs, ALL, random.Random(seed))
        assert place in (2, 4, 5)
        assert {other - place for other in found[place]} == {-2, -1}
    assert {next(iter(moved(arcs, ALL, random.Random(seed)))) for seed in range(20)} == {2, 4, 5}
    assert moved({0: frozenset({5})}, ALL, random.Random(1)) == {}, "there is no other place for it"
    assert moved({1: frozenset({0})}, {0, 1, 2, 4}, random.Random(1)) == {2: {1}}, "a unit without pieces is no place"


def test_two_moved_arcs_never_ask_the_same_word():
    arcs = {1: frozenset({0}), 3: frozenset({2})}
    assert all(len(moved(arcs, ALL, random.Random(seed))) == 2 for seed in range(20))


def test_the_best_offset_counts_words_asked_and_prefers_the_nearest_of_equals():
    sentences = [{3: frozenset({1, 2})}, {5: frozenset({3})}, {2: frozenset({3})}]
    assert best_offset(sentences) == -2
    assert [hits_at(arcs, -2) for arcs in sentences] == [1, 1, 0]
    assert best_offset([{3: frozenset({1})}, {3: frozenset({4})}]) == 1
    assert best_offset([{3: frozenset({2})}, {3: frozenset({4})}]) == -1
    assert best_offset([{}, {}]) is None
