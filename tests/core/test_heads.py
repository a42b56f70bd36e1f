"""Names of heads, and profiles that survive writing and reading."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, all_heads, format_profile, parse_profile
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
