"""Heads, profiles and interventions: named, written and read again, equal if they have the same effect."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, all_heads, format_profile, join_units, parse_profile, single_units
from headroom.core.interventions import PLAIN, REPAIRS, Intervention
from hypothesis import given
from hypothesis import strategies as some

SITES = [Site("E", 1, 4), Site("E", 2, 2), Site("A", 1, 4), Site("D", 1, 4)]


@given(some.sets(some.sampled_from(all_heads(SITES))))
def test_profiles_survive_writing_and_reading(heads: set[Head]) -> None:
    assert parse_profile(format_profile(heads), SITES) == heads


def test_profiles_are_sorted_by_kind_layer_and_head() -> None:
    heads = [Head("D", 1, 1), Head("A", 1, 2), Head("E", 2, 1), Head("E", 1, 4), Head("E", 1, 3)]
    assert format_profile(heads) == "E1:3 E1:4 E2:1 A1:2 D1:1"
    assert sorted([Head("E", 10, 1), Head("E", 9, 1)]) == [Head("E", 9, 1), Head("E", 10, 1)]


def test_a_head_named_twice_is_a_clear_error() -> None:
    with pytest.raises(HeadroomError, match="head A1:2 is named twice"):
        parse_profile("A1:2 E1:1 A1:2", SITES)


def test_all_heads_in_scope_with_uneven_sites() -> None:
    assert len(all_heads(SITES)) == 14
    assert [str(head) for head in all_heads(SITES, "E")] == ["E1:1", "E1:2", "E1:3", "E1:4", "E2:1", "E2:2"]
    assert all_heads(reversed(SITES)) == all_heads(SITES)
    assert all_heads([Site("E", 1, 0)]) == []
    assert [str(site) for site in SITES if site.is_among(["first"])] == ["E1", "A1", "D1"]
    assert join_units(single_units(all_heads(SITES, "A1"))) == set(all_heads(SITES, "A"))


ONE, OTHER = Head("E", 1, 2), Head("A", 3, 4)

HEADS = some.builds(Head, some.sampled_from("EAD"), some.integers(1, 12), some.integers(1, 16))


@some.composite
def interventions(draw):
    chosen = draw(some.lists(HEADS, unique=True, max_size=8))
    cut = draw(some.integers(0, len(chosen)))
    scales = [(head, draw(some.floats(allow_nan=False, allow_infinity=False))) for head in chosen[cut:]]
    if not scales and draw(some.booleans()):
        return Intervention(frozenset(chosen), repair=draw(some.sampled_from(REPAIRS)))
    return Intervention(frozenset(chosen[:cut]), tuple(scales), draw(some.sampled_from(["zero", "mean", "resample"])))


@given(interventions())
def test_what_is_written_is_read(one):
    again = Intervention.parse(str(one))
    assert again == one
    assert hash(again) == hash(one)


def test_a_profile_is_written_as_its_heads_and_the_plain_model_as_nothing():
    assert str(Intervention.without(OTHER, ONE)) == "E1:2 A3:4"
    assert str(Intervention.without(ONE, replacement="mean")) == "E1:2 mean"
    assert str(Intervention.scaled({OTHER: 0.5}, removed=[ONE])) == "E1:2 A3:4*0.5"
    assert str(Intervention.without(ONE, repair="obs")) == "E1:2 obs"
    assert str(PLAIN) == ""
    assert Intervention.parse("") == PLAIN


def test_interventions_that_do_the_same_are_one_key():
    first, second = (Intervention.scaled(dict(pairs)) for pairs in ([(ONE, 2), (OTHER, 3)], [(OTHER, 3.0), (ONE, 2.0)]))
    assert {first: 1}[second] == 1
    assert Intervention.scaled({ONE: 1.0}) == PLAIN == Intervention(replacement="mean")
    assert Intervention.without(ONE, ONE) == Intervention.without(ONE)
    assert Intervention.without(ONE) != Intervention.without(ONE, replacement="mean")
    assert Intervention.without(ONE, repair="mean-bias") == Intervention.without(ONE, replacement="mean")
    assert Intervention(repair="obs") == PLAIN == Intervention(repair="mean-bias")
    assert Intervention.without(ONE, repair="obs") != Intervention.without(ONE, repair="refit")


def test_gates_are_scales_and_zeros():
    one = Intervention.scaled({OTHER: -0.5}, removed=[ONE])
    assert [one.gate(head) for head in (ONE, OTHER, Head("D", 1, 1))] == [0.0, -0.5, 1.0]
    assert one.heads == {ONE, OTHER}
