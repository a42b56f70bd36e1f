"""Confidence, offsets and rare pieces of planted heads, worked out by hand."""

from dataclasses import replace
from itertools import permutations

import pytest
import torch
from headroom.core.heads import Head, Site
from headroom.methods.pointing import OFFSETS, RarePieces, piece_pointing
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
    found = piece_pointing(batches, names(heads), **given)
    return {(one.measure, one.head, one.target, one.half): one for one in found}


@pytest.fixture
def found():
    heads = {SITE: [previous, itself]}
    return look([batch_of([THREE, FIVE], heads)], heads)


def test_confidence_is_the_mean_over_tokens_without_special_pieces(found):
    """A sentence's first word has none before it: its weight is on CLS, the rest of its keys have 0.001 each."""
    one = found["confidence", Head("E", 1, 1), "", "all"]
    assert one.value == pytest.approx((2 * 0.7 + 0.001 + 4 * 0.7 + 0.001) / 8)
    assert one.count == 8
    assert (one.baseline, one.trees) == (None, "")
    assert found["confidence", Head("E", 1, 1), "", "choose"].value == pytest.approx((2 * 0.7 + 0.001) / 3)
    assert found["confidence", Head("E", 1, 1), "", "score"].value == pytest.approx((4 * 0.7 + 0.001) / 5)
    assert found["confidence", Head("E", 1, 2), "", "all"].value == pytest.approx(0.7)


def test_all_offsets_are_given(found):
    head = Head("E", 1, 1)
    shares = {
        target: one.value for (measure, name, target, _), one in found.items() if (measure, name) == ("offset", head)
    }
    assert list(shares) == ["-5", "-4", "-3", "-2", "-1", "0", "+1", "+2", "+3", "+4", "+5"]
    # the two first words: all keys but CLS are alike, so the first key, which is the word itself
    assert shares == pytest.approx({**dict.fromkeys(shares, 0), "-1": 6 / 8, "0": 2 / 8})
    assert found["offset", Head("E", 1, 2), "0", "all"].value == 1
    assert len(OFFSETS) == 11


def test_batches_can_be_cut_in_any_way(found):
    heads = {SITE: [previous, itself]}
    parts = [batch_of([FIVE], heads, positions=[1]), batch_of([THREE], heads, positions=[0])]
    again = look(parts, heads)
    for field in ("value", "low", "high", "count"):
        assert {key: getattr(one, field) or 0 for key, one in again.items()} == pytest.approx(
            {key: getattr(one, field) or 0 for key, one in found.items()}
        )


# pieces by frequency: 3 > 4 > 5 > 6 = 7 > 8
FREQUENCIES = torch.tensor([0, 0, 0, 90, 50, 20, 5, 5, 1])


def rare(pieces, pointer, frequent):
    heads = {SITE: [pointer, itself]}
    sentences = [THREE if len(row) == 3 else FIVE for row in pieces]
    return look([batch_of(sentences, heads, pieces=pieces)], heads, frequencies=FREQUENCIES, frequent=frequent)


def test_a_head_that_points_to_the_rarest_piece():
    pieces = [[3, 8, 4], [3, 6, 4, 5, 3]]
    found = rare(pieces, lambda *_: 1, 2)
    for target, chance in (("rarest", (3 / 3 + 5 / 5) / 8), ("two-rarest", (2 * 3 / 3 + 2 * 5 / 5) / 8)):
        one = found["rare", Head("E", 1, 1), target, "all"]
        assert (one.value, one.count) == (1, 8)
        assert one.baseline == pytest.approx(chance)
    diagonal = found["rare", Head("E", 1, 2), "rarest", "all"]
    assert diagonal.value == pytest.approx(2 / 8)
    assert found["rare", Head("E", 1, 2), "two-rarest", "all"].value == pytest.approx(4 / 8)


def test_sentences_of_frequent_pieces_alone_do_not_count():
    assert rare([[3, 8, 4], [3, 4, 4, 3, 3]], itself, 2)["rare", Head("E", 1, 1), "rarest", "all"].count == 3
    assert rare([[3, 8, 4], [3, 4, 4, 3, 5]], itself, 2)["rare", Head("E", 1, 1), "rarest", "all"].count == 8
    assert not [key for key in rare([[3, 4, 4], [3, 4, 4, 3, 3]], itself, 2) if key[0] == "rare"]


def test_equally_rare_pieces_are_all_right_and_chance_knows():
    heads = {SITE: [itself, itself]}
    batch = batch_of([FIVE], heads, pieces=[[3, 6, 7, 6, 4]])
    pieces = RarePieces.of(batch, FREQUENCIES, 2)
    assert pieces.right[0, 0].tolist() == [False, False, True, True, True, False, False]
    assert pieces.right[1, 0].tolist() == [False, False, True, True, True, False, False]
    one = rare([[3, 8, 8], [3, 6, 7, 6, 4]], lambda *_: 2, 2)["rare", Head("E", 1, 1), "rarest", "all"]
    assert one.value == 1
    assert one.baseline == pytest.approx((2 + 3) / 8)


@pytest.mark.parametrize("order", list(permutations("EAD")), ids="".join)
def test_kinds_keep_the_order_of_their_sites(order):
    """In every process: sets have another order in each."""
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
