"""Planted heads are detected by attention statistics and roles, and not in the controls."""

import random

import numpy
import pandas
import pytest
from headroom.core.heads import Head, Site
from headroom.data.trees import ParsedSentence, Word
from headroom.experiments.roles.stage import find_roles
from headroom.methods.pointing import measure_pointing, piece_pointing
from headroom.methods.syntax import (
    arc_sets,
    best_offset,
    hits_at,
    list_arcs,
    mean_margin,
    move_arcs,
    relation_distances,
    relation_pointing,
)
from planted import batch_of, names, tree

COUNT = 60
SITE = Site("E", 2, 4)


def sentences():
    """Return sentences of a verb with a subject before it and an object behind it, at distances drawn at random."""
    draw, found = random.Random(1), []
    for _ in range(COUNT):
        before, between, after = draw.randint(0, 3), draw.randint(0, 3), draw.randint(0, 3)
        subject = before
        verb = subject + 1 + between
        thing = verb + 1 + after
        words = []
        for place in range(thing + 1):
            governor, relation = {subject: (verb, "nsubj"), verb: (None, "root"), thing: (verb, "obj")}.get(
                place, (subject if place < subject else verb if place < verb else thing, "det")
            )
            words.append((f"w{place}", governor, relation))
        found.append(tree(*words))
    return found


BANK = sentences()


def subject_of(place, query):
    """Point from the verb to its subject, and from all other words to the first."""
    words = BANK[place].words
    if words[query].relation == "root":
        return next(number for number, word in enumerate(words) if word.relation == "nsubj")
    return 0


def governor_of(place, query):
    governor = BANK[place].words[query].governor
    return query if governor is None else governor


def before(_, query):
    return max(query - 1, 0)


def anywhere(place, query):
    return random.Random(place * 100 + query).randrange(len(BANK[place].words))


PLANTED = {SITE: [subject_of, governor_of, before, anywhere]}
CHANCE = {SITE: [anywhere] * 4}


def look(heads, relations=("nsubj", "obj"), size=8):
    order = random.Random(2).sample(range(COUNT), COUNT)  # positions need not be in order
    chunks = [order[start : start + size] for start in range(0, COUNT, size)]
    batches = [batch_of([BANK[place] for place in chunk], heads, positions=chunk) for chunk in chunks]
    return batches, relation_pointing(batches, BANK, names(heads), relations=relations, resamples=100)


@pytest.fixture(scope="module")
def planted():
    return look(PLANTED)


def rows_of(found):
    keys = ("measure", "target", "trees", "half", "value", "baseline", "low", "high", "count")
    lead = {"study": "s", "run": "r", "epoch": 1, "model": "trained", "signature": ""}
    return pandas.DataFrame(
        [{**lead, **vars(one.head), **{key: getattr(one, key) for key in keys}} for one in found if one.head]
    )


def by_key(found):
    return {(one.head.head, one.target, one.trees, one.half): one for one in found if one.head}


def test_planted_heads_are_right_wherever_they_are_asked(planted):
    found = by_key(planted[1])
    for half in ("choose", "score"):
        assert found[1, "nsubj:to-dependent", "gold", half].value == 1
        assert found[2, "nsubj:to-governor", "gold", half].value == 1
        assert found[2, "obj:to-governor", "gold", half].value == 1
        assert found[1, "nsubj:to-dependent", "gold", half].count == COUNT / 2
    assert found[2, "nsubj:to-dependent", "gold", "score"].value == 0, "it points the other way"


def test_the_baseline_is_the_most_frequent_distance_of_the_half_that_chooses(planted):
    offsets = numpy.array(
        [
            next(number - word.governor for number, word in enumerate(one.words) if word.relation == "nsubj")
            for one in BANK
        ]
    )
    chosen, counts = numpy.unique(offsets[0::2], return_counts=True)
    offset = chosen[counts.argmax()]
    found = by_key(planted[1])
    for half, rows in (("choose", offsets[0::2]), ("score", offsets[1::2])):
        assert found[1, "nsubj:to-dependent", "gold", half].baseline == pytest.approx((rows == offset).mean())
        assert found[3, "nsubj:to-dependent", "gold", half].value == pytest.approx((rows == -1).mean())


def test_moved_arcs_have_the_distances_of_the_gold_ones():
    present = {place: numpy.arange(len(BANK[place].words)) for place in range(COUNT)}
    sets = arc_sets(BANK, present, ["nsubj"])
    for gold, shuffled in zip(sets["nsubj:to-governor", "gold"], sets["nsubj:to-governor", "shuffled"], strict=True):
        for asked, right in shuffled.items():
            assert {other - asked for other in right} == {
                other - one for one, others in gold.items() for other in others
            }
            assert asked not in gold


def test_roles_are_found_in_gold_trees_alone(planted, monkeypatch):
    monkeypatch.setattr(
        "headroom.experiments.roles.stage.POSITIONAL_SHARE", 0.8
    )  # short sentences, whose first words have none before
    batches, syntax = planted
    pieces = piece_pointing(batches, names(PLANTED), frequencies=None, frequent=1, resamples=20)
    roles = find_roles(rows_of([*pieces, *syntax]))
    found = {(role.row["trees"], role.row["head"], role.role, role.row["target"]): role.best for role in roles}
    assert found == {
        ("", 3, "positional", "-1"): 0,
        ("gold", 1, "syntactic", "nsubj:to-dependent"): 1,
        ("gold", 2, "syntactic", "nsubj:to-governor"): 1,
        ("gold", 2, "syntactic", "obj:to-governor"): 1,
    }


def test_heads_that_point_anywhere_have_no_role():
    batches, syntax = look(CHANCE)
    pieces = piece_pointing(batches, names(CHANCE), frequencies=None, frequent=1, resamples=20)
    assert find_roles(rows_of([*pieces, *syntax])) == []


def test_a_best_head_is_scored_on_sentences_that_did_not_choose_it():
    """One head is right where the head is chosen and wrong elsewhere: on the same half it would seem perfect."""

    def overfitted(place, query):
        return governor_of(place, query) if place % 2 == 0 else query

    def mediocre(place, query):
        return governor_of(place, query) if place % 5 else 0

    _, syntax = look({SITE: [overfitted, mediocre, before, anywhere]}, relations=["obj"])
    found = by_key(syntax)
    assert found[1, "obj:to-governor", "gold", "choose"].value == 1
    assert found[1, "obj:to-governor", "gold", "score"].value == 0
    roles = find_roles(rows_of(syntax))
    assert [(role.row["head"], role.best) for role in roles] == [(2, 0)], "the best on `choose` has no role on `score`"
    assert roles[0].row["half"] == "score"


def test_the_mean_margin_is_resampled_once_for_all_relations():
    random = numpy.random.default_rng(1)
    words = numpy.full(400, 2.0)
    first, second = ((random.binomial(2, [0.5, 0.8], (400, 2)).astype(float), words, words * 0.4) for _ in range(2))
    name = ("relation", "x", "gold", "score")
    heads = [Head("E", 1, 1), Head("E", 1, 2)]
    _, best = measure_pointing(heads, name, first[0], words, resamples=200, baseline=first[2])
    (alone,), (twice,), (both,) = (
        mean_margin("gold", own, resamples=200) for own in ([first], [first] * 2, [first, second])
    )
    assert (alone.value, alone.low, alone.high) == pytest.approx((best.value - 0.4, best.low, best.high))
    assert (twice.low, twice.high) == pytest.approx((best.low, best.high)), "common errors stay"
    assert both.high - both.low == pytest.approx((best.high - best.low) / 2**0.5, rel=0.15), "others average out"
    choosing = first[0].copy()
    choosing[::2, 0] = 2  # the half that chooses takes the head that is worse on the other
    (wrong,) = mean_margin("gold", [(choosing, *first[1:])], resamples=200)
    assert wrong.value == pytest.approx(first[0][1::2, 0].mean() / 2 - 0.4)


# The small old dog sees cats
DOG = tree(
    ("The", 3, "det"), ("small", 3, "amod"), ("old", 3, "amod"), ("dog", 4, "nsubj"), ("sees", None, "root"),
    ("cats", 4, "obj"),
)  # fmt: skip
ALL = frozenset(range(6))


def test_a_governor_is_asked_once_for_all_its_dependents():
    assert list_arcs(DOG, "amod:to-dependent", ALL) == {3: {1, 2}}
    assert list_arcs(DOG, "amod:to-governor", ALL) == {1: {3}, 2: {3}}
    assert list_arcs(DOG, "nsubj:to-dependent", ALL) == {4: {3}}
    assert list_arcs(DOG, "advmod:to-governor", ALL) == {}


def test_places_are_those_of_units_and_an_arc_within_one_is_none():
    words = (("I", 0, 1, 3, "nsubj"), ("do", 2, 7, 3, "aux"), ("n't", 2, 7, 1, "advmod"), ("go", 8, 10, None, "root"))
    sentence = ParsedSentence("I don't go", tuple(Word(*word) for word in words))
    assert list_arcs(sentence, "nsubj:to-governor", {0, 1, 2}) == {0: {2}}
    assert list_arcs(sentence, "advmod:to-governor", {0, 1, 2}) == {}


def test_moved_arcs_keep_their_distances_and_leave_their_place():
    arcs = {3: frozenset({1, 2})}
    for seed in range(20):
        (place,) = found = move_arcs(arcs, ALL, random.Random(seed))
        assert place in (2, 4, 5)
        assert {other - place for other in found[place]} == {-2, -1}
    assert {next(iter(move_arcs(arcs, ALL, random.Random(seed)))) for seed in range(20)} == {2, 4, 5}
    assert move_arcs({0: frozenset({5})}, ALL, random.Random(1)) == {}, "no other position"
    assert move_arcs({1: frozenset({0})}, {0, 1, 2, 4}, random.Random(1)) == {2: {1}}, (
        "not the position of a unit without pieces"
    )


def test_the_best_offset_counts_words_asked_and_prefers_the_nearest_of_equals():
    sentences = [{3: frozenset({1, 2})}, {5: frozenset({3})}, {2: frozenset({3})}]
    assert best_offset(sentences) == -2
    assert [hits_at(arcs, -2) for arcs in sentences] == [1, 1, 0]
    assert best_offset([{3: frozenset({1})}, {3: frozenset({4})}]) == 1
    assert best_offset([{3: frozenset({2})}, {3: frozenset({4})}]) == -1
    assert best_offset([{}, {}]) is None


class TestDistances:
    """The distribution of the positions of dependents, counted word by word."""

    BATCHES = tuple(
        batch_of([BANK[place] for place in chunk], {SITE: [anywhere] * 4}, positions=chunk)
        for chunk in (range(40, COUNT), range(40))
    )

    def test_equals_counts_over_words(self):
        found = relation_distances(self.BATCHES, BANK, relations=("nsubj", "obj", "amod"), resamples=50)
        assert {one.relation for one in found} == {"nsubj", "obj"}  # no word is an amod
        for relation in ("nsubj", "obj"):
            positions = [
                number - word.governor
                for sentence in BANK
                for number, word in enumerate(sentence.words)
                if word.relation == relation
            ]
            own = {one.position: one for one in found if one.relation == relation}
            assert list(own) == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
            assert {position: one.value for position, one in own.items()} == pytest.approx(
                {position: positions.count(position) / COUNT for position in own}
            )
            assert all(one.low <= one.value <= one.high and one.count == COUNT for one in own.values())
            assert sum(one.value for one in own.values()) == pytest.approx(1)  # none is further away here
