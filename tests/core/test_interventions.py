"""Interventions: equal if they have the same effect, hashable, written and read again."""

from headroom.core.heads import Head
from headroom.core.interventions import PLAIN, REPAIRS, Intervention
from hypothesis import given
from hypothesis import strategies as st

ONE, OTHER = Head("E", 1, 2), Head("A", 3, 4)

heads = st.builds(Head, st.sampled_from("EAD"), st.integers(1, 12), st.integers(1, 16))


@st.composite
def interventions(draw):
    chosen = draw(st.lists(heads, unique=True, max_size=8))
    cut = draw(st.integers(0, len(chosen)))
    scales = [(head, draw(st.floats(allow_nan=False, allow_infinity=False))) for head in chosen[cut:]]
    if not scales and draw(st.booleans()):
        return Intervention(frozenset(chosen), repair=draw(st.sampled_from(REPAIRS)))
    return Intervention(frozenset(chosen[:cut]), tuple(scales), draw(st.sampled_from(["zero", "mean", "resample"])))


@given(interventions())
def test_what_is_written_is_read(one):
    again = Intervention.parse(str(one))
    assert again == one
    assert hash(again) == hash(one)
    assert str(again) == str(one)


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
