"""Planted heads are found by roles and not in the controls; forced choices between forms, by hand and one by one."""

import random

import numpy
import pandas
import pytest
import torch
from headroom.core.heads import Head, Site, parse_profile
from headroom.core.interventions import Intervention
from headroom.data.grammar.phenomena import Case
from headroom.data.parallel import read_pairs
from headroom.data.trees import ParsedSentence, Word
from headroom.experiments.phenomena.forced_choice import ForcedChoices, compare_cases, random_groups, read_cases
from headroom.experiments.phenomena.stage import groups
from headroom.experiments.roles.stage import find_roles
from headroom.methods.pointing import measure_pointing, token_pointing
from headroom.methods.syntax import (
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


def test_roles_are_found_in_gold_trees_alone(planted, monkeypatch):
    monkeypatch.setattr(
        "headroom.experiments.roles.stage.POSITIONAL_SHARE", 0.8
    )  # short sentences, whose first words have none before
    batches, syntax = planted
    tokens = token_pointing(batches, names(PLANTED), frequencies=None, frequent=1, resamples=20)
    roles = find_roles(rows_of([*tokens, *syntax]))
    found = {(role.row["trees"], role.row["head"], role.role, role.row["target"]): role.best for role in roles}
    assert found == {
        ("", 3, "positional", "-1"): 0,
        ("gold", 1, "syntactic", "nsubj:to-dependent"): 1,
        ("gold", 2, "syntactic", "nsubj:to-governor"): 1,
        ("gold", 2, "syntactic", "obj:to-governor"): 1,
    }
    batches, syntax = look({SITE: [anywhere] * 4})
    tokens = token_pointing(batches, names(PLANTED), frequencies=None, frequent=1, resamples=20)
    assert find_roles(rows_of([*tokens, *syntax])) == []


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
        "not the position of a unit without tokens"
    )


def test_the_best_offset_counts_words_asked_and_prefers_the_nearest_of_equals():
    sentences = [{3: frozenset({1, 2})}, {5: frozenset({3})}, {2: frozenset({3})}]
    assert best_offset(sentences) == -2
    assert [hits_at(arcs, -2) for arcs in sentences] == [1, 1, 0]
    assert best_offset([{3: frozenset({1})}, {3: frozenset({4})}]) == 1
    assert best_offset([{3: frozenset({2})}, {3: frozenset({4})}]) == -1
    assert best_offset([{}, {}]) is None


def test_distributions_of_distances_equal_counts_over_words():
    chunks = range(40, COUNT), range(40)
    batches = [batch_of([BANK[place] for place in chunk], {SITE: [anywhere] * 4}, positions=chunk) for chunk in chunks]
    found = relation_distances(batches, BANK, relations=("nsubj", "obj", "amod"), resamples=50)
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


SITES = [Site("E", 1, 4), Site("A", 1, 4), Site("D", 1, 4)]


def alone(model, source, words):
    """Return the log-probabilities of the tokens of a translation, and the best tokens, in a batch of one."""
    (batch,) = model.batches([source], [" ".join(words)], sentences=1)
    logits = model.logits(batch)[0].log_softmax(-1)
    return logits.gather(-1, batch.target[0][:, None])[:, 0], logits.argmax(-1) == batch.target[0]


@torch.inference_mode()
def test_a_case_is_right_if_its_form_scores_above_every_wrong_one(lively, toy):
    text = read_pairs(toy.corpus, "check")
    cases = read_cases(toy.corpus / "check.phenomena.csv", len(text))
    intervention = Intervention(parse_profile("E1:1 E1:2 E2:4", lively.sites))
    found = ForcedChoices(lively, text, cases, sentences=7).correct(intervention)
    kinds = set()
    with lively.gates.applied(intervention, None):
        for (number, case), right in zip(cases[:60], found):
            words = text.target[number].split(" ")
            mark = words[case.word][len(case.expected) :]
            before = words[: case.word]
            start = len(lively.words.write([" ".join(before)])[0]) - 1 if before else 0
            forms = [form + mark for form in (case.expected, *case.wrong)]
            scored = [alone(lively, text.source[number], [*before, form]) for form in forms]
            own, *others = [float(nats[start:-1].sum()) for nats, _ in scored]
            expected = all(own > other for other in others) if others else bool(scored[0][1][start:-1].all())
            assert right == expected, case
            kinds.add((bool(others), expected))
    assert len(kinds) >= 2


def test_accuracies_are_compared_on_the_same_cases():
    # Sentence 0 has two cases of agreement and one of object, sentence 1 one of agreement, sentence 2 none.
    case, other = Case("agreement", 0, "a", ("b",)), Case("object", 0, "a", ("b",))
    cases = [(0, case), (0, case), (0, other), (1, case)]
    full, own = numpy.array([1.0, 1, 1, 1]), numpy.array([1.0, 0, 0, 0])
    drawn = [numpy.array([1.0, 1, 0, 0]), numpy.array([1.0, 1, 1, 1])]
    agreement, thing = compare_cases(cases, 3, full=full, own=own, drawn=drawn, resamples=200)
    assert (agreement["phenomenon"], agreement["count"], agreement["draws"]) == ("agreement", 3, 2)
    assert agreement["value"] == pytest.approx(100 / 3)
    assert agreement["full"] == 100
    assert agreement["delta"] == pytest.approx(-200 / 3)
    assert agreement["random"] == pytest.approx(100 * 5 / 6)
    assert agreement["beyond"] == pytest.approx(-50)
    # in a resample with sentence 0 or sentence 1 alone, one of two or all cases are lost
    assert (agreement["low"], agreement["high"]) == (-100, -50)
    assert 0 < agreement["p"] <= 1
    assert (thing["value"], thing["full"], thing["random"], thing["count"]) == (0, 100, 50, 1)
    (plain, _) = compare_cases(cases, 3, full=full, own=own, drawn=[], resamples=200)
    assert (plain["random"], plain["beyond"], plain["p"], plain["draws"]) == ("", "", "", 0)


def test_random_groups_are_other_encoder_heads():
    heads = frozenset({Head("E", 1, 1)})
    drawn = random_groups(SITES, heads, 20, "nsubj")
    assert drawn == random_groups(SITES, heads, 20, "nsubj")
    assert set().union(*drawn) == {Head("E", 1, number) for number in (2, 3, 4)}
    assert {len(one) for one in drawn} == {1}
    three = frozenset(Head("E", 1, number) for number in (1, 2, 3))
    assert random_groups(SITES, three, 1, "obj") == [frozenset({Head("E", 1, 4)})]


def test_groups_are_the_encoder_and_the_heads_with_a_role_for_a_relation():
    row = {"role": "syntactic", "trees": "gold", "model": "trained", "kind": "E", "layer": 1}
    roles = pandas.DataFrame(
        [
            {**row, "head": 1, "target": "nsubj:pass:to-governor"},
            {**row, "head": 2, "target": "obj:to-governor"},
            {**row, "head": 3, "target": "obj:to-dependent"},
            {**row, "head": 4, "target": "obj:to-dependent", "trees": "shuffled"},
            {**row, "head": 4, "target": "obj:to-dependent", "model": "untrained"},
            {**row, "head": 4, "target": "+1", "role": "positional", "trees": ""},
        ]
    )
    found = groups(SITES, roles)
    assert {name: " ".join(map(str, sorted(heads))) for name, heads in found.items()} == {
        "encoder": "E1:1 E1:2 E1:3 E1:4",
        "nsubj:pass": "E1:1",
        "obj": "E1:2 E1:3",
    }
    assert list(groups(SITES, roles[:0])) == ["encoder"]
