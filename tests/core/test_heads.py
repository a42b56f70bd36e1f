"""Names of heads, and profiles that survive writing and reading."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, all_heads, check_heads, format_profile, parse_head, parse_profile
from hypothesis import given
from hypothesis import strategies as some

SITES = [Site("E", 1, 4), Site("E", 2, 2), Site("A", 1, 4), Site("D", 1, 4)]


@pytest.mark.parametrize("name", ["", "E3", "E:3:1", "X1:1", "E0:1", "E1:0", "E01:1", "e1:1", "E1:1 ", "E1:-1", "E١:1"])
def test_other_names_are_a_clear_error(name: str) -> None:
    with pytest.raises(HeadroomError, match=r"malformed; write kind, layer and head, e.g. E3:5"):
        parse_head(name)


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


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("E1:5", "head E1:5: does not exist; site E1 has 4 heads"),
        ("E2:3", "head E2:3: does not exist; site E2 has 2 heads"),
        ("D2:1", "head D2:1: does not exist; the model's sites are E1 E2 A1 D1"),
    ],
)
def test_a_head_out_of_range_is_a_clear_error(profile: str, message: str) -> None:
    with pytest.raises(HeadroomError, match=message):
        parse_profile(profile, SITES)
    with pytest.raises(HeadroomError, match=message):
        check_heads([parse_head(profile)], SITES)


def test_all_heads_in_scope_with_uneven_sites() -> None:
    assert len(all_heads(SITES)) == 14
    assert [str(head) for head in all_heads(SITES, "E")] == ["E1:1", "E1:2", "E1:3", "E1:4", "E2:1", "E2:2"]
    assert all_heads(reversed(SITES)) == all_heads(SITES)
    assert all_heads([Site("E", 1, 0)]) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("all",), "E1 E2 E12 A1 D1 D2"),
        (("first",), "E1 A1 D1"),
        (("E",), "E1 E2 E12"),
        (("E1",), "E1"),
        (("D2", "A"), "A1 D2"),
        (("first", "E2"), "E1 E2 A1 D1"),
    ],
)
def test_sites_among_words(words, named):
    there = [Site("E", 1, 4), Site("E", 2, 4), Site("E", 12, 4), Site("A", 1, 4), Site("D", 1, 4), Site("D", 2, 4)]
    assert " ".join(str(site) for site in there if site.is_among(words)) == named
