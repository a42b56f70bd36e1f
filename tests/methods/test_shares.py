import numpy
import pytest
from headroom.core.heads import Head
from headroom.methods.pointing import measured, shares

HEADS = [Head("E", 1, 1), Head("E", 1, 2)]


def test_a_share_is_of_all_that_is_asked_and_not_a_mean_over_sentences():
    found = numpy.array([[1.0, 3.0], [0.0, 1.0]])
    value, baseline, _, _ = shares(found, numpy.array([4.0, 1.0]), resamples=10, baseline=numpy.array([1.0, 0.0]))
    assert value.tolist() == [0.2, 0.8]
    assert baseline == 0.2


def test_the_interval_is_that_of_the_paired_difference():
    """A head that is right exactly where its baseline is, and once more in every sentence, is surely better."""
    random = numpy.random.default_rng(0)
    baseline = random.integers(0, 2, 200).astype(float)
    found = numpy.stack([baseline + 1, baseline], axis=1)
    asked = numpy.full(200, 2.0)
    value, _, low, high = shares(found, asked, resamples=200, baseline=baseline)
    assert low == pytest.approx([0.5, 0.0])
    assert high == pytest.approx([0.5, 0.0])
    plain = shares(found, asked, resamples=200)
    assert (plain[2] < value).all()
    assert (plain[3] > value).all()


def test_halves_are_every_second_sentence():
    found = numpy.arange(10.0).reshape(5, 2)
    asked = numpy.array([10.0, 20.0, 10.0, 20.0, 10.0])
    by_half = {
        half: measured(HEADS, ("relation", "x", "gold", half), found, asked, resamples=5)
        for half in ("choose", "score")
    }
    assert [(one.value, one.count) for one in by_half["choose"]] == [(12 / 30, 30), (15 / 30, 30)]
    assert [(one.value, one.count) for one in by_half["score"]] == [(8 / 40, 40), (10 / 40, 40)]
    assert by_half["score"][1].head == HEADS[1]


def test_where_nothing_is_asked_there_is_no_share():
    found, asked = numpy.zeros((3, 2)), numpy.array([1.0, 0.0, 1.0])
    assert measured(HEADS, ("rare", "rarest", "", "score"), found, asked, resamples=5) == []
    assert len(measured(HEADS, ("rare", "rarest", "", "choose"), found, asked, resamples=50)) == 2
