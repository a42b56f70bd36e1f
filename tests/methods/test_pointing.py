"""Confidence, offsets and rare tokens of planted heads, worked out by hand; the maps that a page shows."""

from dataclasses import replace
from itertools import permutations

import numpy
import pandas
import pytest
import torch
from headroom.core.heads import Head, Site
from headroom.data.trees import ParsedSentence, Word
from headroom.methods.pointing import (
    RareTokens,
    between_units,
    measure_pointing,
    membership,
    token_pointing,
    unit_of_tokens,
    units,
)
from headroom.methods.traces import entry, nearest_to_roles, word_maps
from planted import batch_of, names, tree

SITE = Site("E", 1, 2)
THREE = tree(("a", None, "root"), ("b", 0, "x"), ("c", 0, "x"))
FIVE = tree(("a", None, "root"), ("b", 0, "x"), ("c", 0, "x"), ("d", 0, "x"), ("e", 0, "x"))


def previous(_, query):
    return query - 1


def itself(_, query):
    return query


def look(batches, heads, **options):
    given = {"frequencies": None, "frequent": 2, "resamples": 20, **options}
    found = token_pointing(batches, names(heads), **given)
    return {(one.measure, one.head, one.target, one.half): one for one in found}


@pytest.fixture
def found():
    heads = {SITE: [previous, itself]}
    return look([batch_of([THREE, FIVE], heads)], heads)


def test_confidence_is_the_mean_over_tokens_without_special_tokens(found):
    """A sentence's first word has none before it: its weight is on CLS, the rest of its keys have 0.001 each."""
    one = found["confidence", Head("E", 1, 1), "", "all"]
    assert one.value == pytest.approx((2 * 0.7 + 0.001 + 4 * 0.7 + 0.001) / 8)
    assert one.count == 8
    assert (one.baseline, one.trees) == (None, "")
    assert found["confidence", Head("E", 1, 1), "", "choose"].value == pytest.approx((2 * 0.7 + 0.001) / 3)
    assert found["confidence", Head("E", 1, 1), "", "score"].value == pytest.approx((4 * 0.7 + 0.001) / 5)
    assert found["confidence", Head("E", 1, 2), "", "all"].value == pytest.approx(0.7)


# tokens by frequency: 3 > 4 > 5 > 6 = 7 > 8
FREQUENCIES = torch.tensor([0, 0, 0, 90, 50, 20, 5, 5, 1])


def rare(tokens, pointer, frequent):
    heads = {SITE: [pointer, itself]}
    sentences = [THREE if len(row) == 3 else FIVE for row in tokens]
    return look([batch_of(sentences, heads, tokens=tokens)], heads, frequencies=FREQUENCIES, frequent=frequent)


def test_a_head_that_points_to_the_rarest_token():
    tokens = [[3, 8, 4], [3, 6, 4, 5, 3]]
    found = rare(tokens, lambda *_: 1, 2)
    for target, chance in (("rarest", (3 / 3 + 5 / 5) / 8), ("two-rarest", (2 * 3 / 3 + 2 * 5 / 5) / 8)):
        one = found["rare", Head("E", 1, 1), target, "all"]
        assert (one.value, one.count) == (1, 8)
        assert one.baseline == pytest.approx(chance)
    diagonal = found["rare", Head("E", 1, 2), "rarest", "all"]
    assert diagonal.value == pytest.approx(2 / 8)
    assert found["rare", Head("E", 1, 2), "two-rarest", "all"].value == pytest.approx(4 / 8)


def test_sentences_of_frequent_tokens_alone_do_not_count():
    assert rare([[3, 8, 4], [3, 4, 4, 3, 3]], itself, 2)["rare", Head("E", 1, 1), "rarest", "all"].count == 3
    assert not [key for key in rare([[3, 4, 4], [3, 4, 4, 3, 3]], itself, 2) if key[0] == "rare"]


def test_equally_rare_tokens_are_all_right_and_chance_knows():
    heads = {SITE: [itself, itself]}
    batch = batch_of([FIVE], heads, tokens=[[3, 6, 7, 6, 4]])
    tokens = RareTokens.of(batch, FREQUENCIES, 2)
    assert tokens.right[0, 0].tolist() == [False, False, True, True, True, False, False]
    assert tokens.right[1, 0].tolist() == [False, False, True, True, True, False, False]
    one = rare([[3, 8, 8], [3, 6, 7, 6, 4]], lambda *_: 2, 2)["rare", Head("E", 1, 1), "rarest", "all"]
    assert one.value == 1
    assert one.baseline == pytest.approx((2 + 3) / 8)


def test_kinds_keep_the_order_of_their_sites():
    """In every process: sets have another order in each."""
    for order in permutations("EAD"):
        sites = {Site(kind, 1, 1): [itself] for kind in order}
        batch = batch_of([THREE, FIVE], sites)
        batch = replace(batch, ordinary=dict.fromkeys(sorted(order), batch.ordinary["E"]))
        assert list(dict.fromkeys(head.kind for _, head, *_ in look([batch], sites))) == list(order)


def test_decoder_and_cross_attention_have_what_makes_sense_there():
    sites = {Site("E", 1, 1): [itself], Site("A", 1, 1): [itself], Site("D", 1, 1): [itself]}
    batch = batch_of([THREE, FIVE], sites)
    both = batch.ordinary["E"]
    batch = replace(batch, ordinary={"E": both, "A": both, "D": both})
    found = look([batch], sites, frequencies=FREQUENCIES, frequent=2)
    measures = {kind: {key[0] for key in found if key[1].kind == kind} for kind in "EAD"}
    assert measures == {"E": {"confidence", "offset", "rare"}, "A": {"confidence"}, "D": {"confidence", "offset"}}


# I don't go: do and n't stand at one place
DONT = ParsedSentence(
    "I don't go",
    (
        Word("I", 0, 1, 3, "nsubj"),
        Word("do", 2, 7, 3, "aux"),
        Word("n't", 2, 7, 3, "advmod"),
        Word("go", 8, 10, None, ""),
    ),
)


def test_words_of_a_multiword_token_are_one_unit():
    of_word, ends = units(DONT)
    assert of_word == [0, 1, 1, 2]
    assert ends.tolist() == [1, 7, 10]


def test_a_token_belongs_to_the_unit_in_which_it_begins_or_before_which_it_stands():
    ends = numpy.array([1, 7, 10])
    # CLS, I, a lone mark before don't, don, 't go (two words), o, the end mark, white space at the end
    spans = numpy.array([(-1, -1), (0, 1), (1, 2), (2, 5), (5, 9), (9, 10), (-1, -1), (10, 10)])
    assert unit_of_tokens(spans, ends).tolist() == [-1, 0, 1, 1, 1, 2, -1, -1]


def test_attention_to_a_word_is_the_sum_and_from_a_word_the_mean_over_its_tokens():
    # tokens: special, a1, a2, b, special; units a (two tokens), b, and c, which has none
    member = membership([numpy.array([-1, 0, 0, 1, -1])], [3], 5)
    weights = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.3, 0.1, 0.1, 0.2, 0.3],
            [0.0, 0.5, 0.1, 0.4, 0.0],
            [0.2, 0.2, 0.2, 0.2, 0.2],
        ]
    )[None, None]
    expected = [[(0.2 + 0.3 + 0.1 + 0.1) / 2, (0.4 + 0.2) / 2, 0.0], [0.5 + 0.1, 0.4, 0.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(between_units(weights, member)[0, 0], torch.tensor(expected))


HEADS = [Head("E", 1, 1), Head("E", 1, 2)]


def test_a_share_is_of_all_that_is_asked_and_not_a_mean_over_sentences():
    found, chance = numpy.array([[1.0, 3.0], [0.0, 1.0]]), numpy.array([1.0, 0.0])
    rows = measure_pointing(
        HEADS, ("rare", "x", "", "all"), found, numpy.array([4.0, 1.0]), resamples=10, baseline=chance
    )
    assert [(one.value, one.baseline) for one in rows] == [(0.2, 0.2), (0.8, 0.2)]


def test_the_interval_is_that_of_the_paired_difference():
    """A head with one more correct case than its baseline in every sentence is certainly better."""
    random = numpy.random.default_rng(0)
    baseline = random.integers(0, 2, 200).astype(float)
    found, asked = numpy.stack([baseline + 1, baseline], axis=1), numpy.full(200, 2.0)
    name = ("rare", "x", "", "all")
    for one, expected in zip(measure_pointing(HEADS, name, found, asked, resamples=200, baseline=baseline), (0.5, 0.0)):
        assert (one.low, one.high) == pytest.approx((expected, expected))
    for one in measure_pointing(HEADS, name, found, asked, resamples=200):
        assert one.low < one.value < one.high


def test_halves_are_every_second_sentence():
    found = numpy.arange(10.0).reshape(5, 2)
    asked = numpy.array([10.0, 20.0, 10.0, 20.0, 10.0])
    by_half = {
        half: measure_pointing(HEADS, ("relation", "x", "gold", half), found, asked, resamples=5)
        for half in ("choose", "score")
    }
    assert [(one.value, one.count) for one in by_half["choose"]] == [(12 / 30, 30), (15 / 30, 30)]
    assert [(one.value, one.count) for one in by_half["score"]] == [(8 / 40, 40), (10 / 40, 40)]
    assert by_half["score"][1].head == HEADS[1]


def test_maps_are_between_words_and_written_to_two_decimals():
    site = Site("E", 1, 2)
    heads = {site: [lambda _, query: query - 1, lambda _, query: query]}
    maps = word_maps(
        [batch_of([THREE, THREE], heads, positions=[1, 0])],
        [THREE, THREE],
        {site: site.head_names()},
    )
    assert set(maps) == {(head, place) for head in site.head_names() for place in (0, 1)}
    found = entry((Head("E", 1, 1), "positional", "-1"), 2, THREE, maps[Head("E", 1, 1), 1])
    assert found["weights"] == [[0.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, 0.7, 0.0]]
    assert (found["head"], found["queries"], found["sentence"]) == ("E1:1", ["a", "b", "c"], 2)


def test_a_multiword_token_is_shown_once_as_it_is_written():
    words = (Word("do", 0, 5, 2, "aux"), Word("n't", 0, 5, 2, "advmod"), Word("go", 6, 8, None, "root"))
    found = entry((Head("E", 1, 1), "", "-1"), 1, ParsedSentence("don't go", words), [])
    assert found["queries"] == found["keys"] == ["don't", "go"]


def test_without_trees_the_most_positional_head_is_shown_alone():
    columns = ["model", "kind", "layer", "head", "measure", "target", "trees", "half", "value"]
    offset = ["trained", "E", 1, 2, "offset", "-1", "", "all", 0.4]
    confidence = ["trained", "E", 1, 2, "confidence", "", "", "choose", 0.3]
    pointing = pandas.DataFrame([offset, confidence], columns=columns)
    assert nearest_to_roles(pointing) == [(Head("E", 1, 2), "", "-1")]
