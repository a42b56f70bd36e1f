"""Removal orders worked by hand, and the points of a curve."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Site, all_heads, single_units
from headroom.experiments.scores.table import SCORES
from headroom.methods.orders import (
    Order,
    bottom_first,
    least_important_first,
    profiles,
    random_order,
    read_scores,
    rescore_order,
    step_sizes,
    top_first,
)
from tables import write_rows

SITES = [Site("E", 1, 2), Site("A", 1, 2), Site("D", 1, 2)]
HEADS = all_heads(SITES)
ENCODER = [Site("E", layer, 1) for layer in (1, 2, 3, 4)]
COLUMNS = ("epoch", "kind", "layer", "head", "criterion", "normalised", "value")


def names(found):
    return " ".join(str(head) for unit in found for head in unit)


@pytest.mark.parametrize(
    ("sites", "expected"),
    [
        (SITES, "A1:1 A1:2 D1:1 D1:2 E1:1 E1:2"),
        ([Site("E", 1, 2), Site("E", 2, 1)], "E2:1 E1:1 E1:2"),
        # the last of two layers is as high as the only one of the decoder; the second of four as the first of two
        ([*ENCODER, Site("D", 1, 1)], "D1:1 E4:1 E3:1 E2:1 E1:1"),
        ([*ENCODER, Site("A", 1, 1), Site("A", 2, 1)], "A2:1 E4:1 E3:1 A1:1 E2:1 E1:1"),
    ],
)
def test_layers_from_the_top_and_from_the_bottom(sites, expected):
    own = single_units(all_heads(sites))
    assert names(top_first(own)) == expected
    assert names(bottom_first(own)) == " ".join(reversed(expected.split()))


@pytest.mark.parametrize(
    ("heads", "step", "expected"),
    [
        (72, 0.1, [0, 7, 14, 22, 29, 36, 43, 50, 58, 65, 72]),
        (24, 0.1, [0, 2, 5, 7, 10, 12, 14, 17, 19, 22, 24]),
        (8, 0.25, [0, 2, 4, 6, 8]),
        (3, 0.1, [0, 1, 2, 3]),
        (1, 0.1, [0, 1]),
        (10, 1, [0, 10]),
        (10, 0.3, [0, 3, 7, 10]),
        (10, 0.7, [0, 10]),
    ],
)
def test_points_of_a_curve(heads, step, expected):
    assert step_sizes(heads, step) == expected


def test_least_important_first_with_ties_in_table_order():
    scores = dict(zip(HEADS, [0.5, 0.1, 0.5, 0.1, 0.0, 0.5]))
    assert names(single_units(HEADS)) == "E1:1 E1:2 A1:1 A1:2 D1:1 D1:2"
    assert names(least_important_first(scores, single_units(HEADS))) == "D1:1 E1:2 A1:2 E1:1 A1:1 D1:2"
    assert names(least_important_first(scores, single_units(HEADS[::-1]))) == "D1:1 E1:2 A1:2 E1:1 A1:1 D1:2"
    assert names(least_important_first(scores, single_units(all_heads(SITES, "E")))) == "E1:2 E1:1"


def test_a_group_scores_the_sum_of_its_heads_and_pairs_are_compared_in_turn():
    e1, e2, a1, a2, d1, d2 = HEADS
    pairs = [(e1, e2), (a1, a2), (d1, d2)]
    scores = dict(zip(HEADS, [0.1, 0.6, 0.3, 0.3, 0.5, 0.2]))
    assert least_important_first(scores, pairs) == [(a1, a2), (e1, e2), (d1, d2)]
    ties = {head: (float(head.kind == "E"), number) for number, head in enumerate(HEADS)}
    assert least_important_first(ties, pairs) == [(a1, a2), (d1, d2), (e1, e2)]


def test_a_curve_removes_whole_groups():
    e1, e2, a1, a2, d1, d2 = HEADS
    order = Order("own", [(a1, a2), (e1,), (e2, d1, d2)])
    assert profiles(order, 0.3) == [frozenset(), {a1, a2}, {a1, a2, e1}, frozenset(HEADS)]


def test_a_head_without_a_score_is_named():
    with pytest.raises(HeadroomError, match="head D1:2: no score"):
        least_important_first(dict.fromkeys(HEADS[:-1], 1.0), single_units(HEADS))


def test_random_orders_depend_on_the_seed_alone():
    first = random_order(single_units(HEADS), 0)
    assert sorted(first) == single_units(HEADS)
    assert random_order(single_units(HEADS), 0) == first
    assert random_order(single_units(HEADS[::-1]), 0) == first
    assert len({names(random_order(single_units(HEADS), seed)) for seed in range(5)}) > 3
    assert first != single_units(HEADS)


def test_scored_anew_after_every_step_by_hand():
    """Steps of two: a head that matters only once another is gone moves back, and gone heads stay gone."""
    e1, e2, a1, a2, d1, d2 = HEADS
    tables = {
        frozenset(): [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        frozenset([e1, e2]): [0.0, 0.0, 9.0, 0.4, 0.5, 0.2],  # A1:1 now matters most; gone heads score 0
        frozenset([e1, e2, d2, a2]): [0.0, 0.0, 0.7, 0.0, 0.7, 0.0],
    }
    asked = []

    def scores(gone):
        asked.append(gone)
        return dict(zip(HEADS, tables[gone]))

    assert rescore_order(single_units(HEADS), [0, 2, 4, 6], scores) == single_units([e1, e2, d2, a2, a1, d1])
    assert asked == list(tables)


class TestReadScores:
    @pytest.fixture
    def path(self, tmp_path):
        rows = [
            dict(zip(COLUMNS, (epoch, head.kind, head.layer, head.head, criterion, "raw", 10 * epoch + i)))
            for epoch in (1, 2)
            for criterion in ("gradient-example", "gradient-token")
            for i, head in enumerate(HEADS)
        ]
        write_rows(SCORES, tmp_path / "scores.csv", rows)
        return str(tmp_path / "scores.csv")

    def test_one_epoch_of_one_criterion(self, path):
        found = read_scores(path, epoch=2, criterion="gradient-token")
        assert found == dict(zip(HEADS, [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]))

    @pytest.mark.parametrize(
        "wanted",
        [
            {"epoch": 3, "criterion": "gradient-token"},
            {"epoch": 1, "criterion": "magnitude"},
            {"epoch": 1, "criterion": "gradient-token", "normalised": "layer"},
        ],
    )
    def test_what_is_not_there_is_named_with_what_is(self, path, wanted):
        with pytest.raises(HeadroomError, match="only by gradient-example and gradient-token at epoch 1 and 2; rerun"):
            read_scores(path, **wanted)
