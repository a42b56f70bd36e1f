"""Criteria: settings that name them, scores read from tables of experiments; orders by hand, points of a curve."""

import re

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, all_heads, single_units
from headroom.experiments.ablation.declared import ABLATION
from headroom.experiments.attention_stats.declared import ATTENTION_STATS, RELEVANCE
from headroom.experiments.gates.declared import GATES
from headroom.experiments.scores.declared import SCORES, SCORES_COMPARED
from headroom.methods.criteria import (
    check,
    check_compared,
    count_used,
    criterion,
    criterion_scores,
)
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

LEAD = {"study": "s", "run": "r", "epoch": 3, "kind": "E", "layer": 1, "signature": "n:9"}
FITTED = {"scope": "all", "setting": 1}
HEADS = [Head("E", 1, number) for number in (1, 2)]


def table(path, of, rows):
    rows = [LEAD | {"head": head} | row for row in rows for head in (1, 2)]
    numbered = [{"value": float(place)} | row if "value" in of.names else row for place, row in enumerate(rows)]
    return write_rows(of, path, numbered)


def test_mistakes_in_settings_are_told_with_their_keys():
    needs = {"ablation": "needs every seed", "gates": "needs gates"}
    for found, reported in (
        (check("t", ["gradient-example", "relevance", "gates"], "gradient-example"), []),
        (check("t", ["gradient-example", "grad"], "gradient-example"), ["unknown criterion 'grad'; use ablation, "]),
        (check("t", ["gradient-token"], "gradient-example"), ["main: 'gradient-example' is not in pruning.criteria"]),
        (check("t", ["relevance"], "relevance"), ["main: 'relevance' is not scored at every epoch; use gradient-"]),
        (check("t", ["gradient-example", "obs"], "gradient-example"), ["'obs' is only computed to be compared"]),
        (check("t", ["x", "y"], "z"), ["unknown criterion 'x'", "unknown criterion 'y'", "main: "]),
        (check_compared("t", ["gradient-example", "obs", "confidence"], ["obs"], needs), []),
        (check_compared("t", ["obs", "grad"], [], needs), ["unknown criterion 'grad'; use those of docs/criteria.md"]),
        (check_compared("t", ["ablation", "gates"], [], needs), ["'ablation' needs every seed", "'gates' needs gates"]),
        (check_compared("t", ["confidence"], ["confidence"], needs), ["rescored: 'confidence' cannot be scored again"]),
    ):
        assert len(found) == len(reported)
        for line, token in zip(found, reported):
            assert re.match(r"configuration: t\.(pruning|bakeoff)\.\w+: ", line)
            assert token in line


def test_an_unknown_criterion_is_told_with_those_there_are():
    with pytest.raises(HeadroomError, match="criterion 'none': unknown; use one of output-norm, channel-variance"):
        criterion("none")


class TestReading:
    def test_of_all_rows_those_of_the_criterion(self, tmp_path):
        for name, of, own, *others in (
            (
                "relevance",
                RELEVANCE,
                {"measure": "relevance", "half": "all"},
                {"measure": "signed", "half": "all"},
                {"measure": "relevance", "half": "choose"},
            ),
            (
                "confidence",
                ATTENTION_STATS,
                {"model": "trained", "measure": "confidence", "half": "all"},
                {"model": "untrained", "measure": "confidence", "half": "all"},
                {"model": "trained", "measure": "offset", "half": "all"},
            ),
        ):
            path = table(tmp_path / f"{name}.csv", of, [*others, own])
            assert criterion_scores(name, [path], epoch=3) == dict(zip(HEADS, (4.0, 5.0)))

    def test_equal_effects_are_ordered_by_the_loss(self, tmp_path):
        effects = {1: (-2.0, 0.5), 2: (-2.0, 0.1), 3: (0.0, 0.3), 4: (-2.0, 0.1)}  # accuracy, loss
        rows = [
            LEAD | {"head": head, "set": "choose", "metric": metric, "delta": delta}
            for head, deltas in effects.items()
            for metric, delta in zip(("accuracy", "loss"), deltas)
        ]
        found = criterion_scores("ablation", [write_rows(ABLATION, tmp_path / "a.csv", rows)], epoch=3)
        assert [found[Head("E", 1, head)] for head in effects] == [(2.0, 0.5), (2.0, 0.1), (0.0, 0.3), (2.0, 0.1)]

    def test_what_ablation_costs_of_the_first_metric_on_the_set_that_chooses(self, tmp_path):
        rows = [
            {"set": name, "metric": metric, "delta": -len(name + metric)}
            for name in ("choose", "test")
            for metric in ("bleu", "chrf4")
        ]
        path = table(tmp_path / "ablation.csv", ABLATION, rows)
        assert set(criterion_scores("ablation", [path], epoch=3).values()) == {len("choosebleu")}
        assert set(criterion_scores("ablation", [path], epoch=3, chosen_on="test").values()) == {len("testbleu")}

    def test_survival_is_the_share_of_lambdas(self, tmp_path):
        rows = [FITTED | {"method": "hard-concrete", "setting": place, "kept": place} for place in (0, 1)]
        path = table(tmp_path / "gates.csv", GATES, rows)
        assert set(criterion_scores("gates", [path], epoch=3).values()) == {0.5}

    def test_what_is_missing_is_asked_for(self, tmp_path):
        path = table(tmp_path / "relevance.csv", RELEVANCE, [{"measure": "relevance", "half": "all"}])
        with pytest.raises(HeadroomError, match=r"relevance\.csv: no scores by relevance at epoch 2"):
            criterion_scores("relevance", [path], epoch=2)
        with pytest.raises(HeadroomError, match="criterion confidence: its scores are missing; give --attention-stats"):
            criterion_scores("confidence", [], epoch=1)

    def test_compared_scores_are_read_with_their_halves(self, tmp_path):
        rows = [{"criterion": name, "half": half} for name in ("obs", "wanda") for half in ("all", "choose", "score")]
        path = table(tmp_path / "compared.csv", SCORES_COMPARED, rows)
        assert list(criterion("wanda").read(path)["half"]) == ["all", "all", "choose", "choose", "score", "score"]
        assert criterion_scores("wanda", [path], epoch=3) == dict(zip(HEADS, (6.0, 7.0)))


SITES = [Site("E", 1, 2), Site("A", 1, 2), Site("D", 1, 2)]
EVERY_HEAD = all_heads(SITES)
ENCODER = [Site("E", layer, 1) for layer in (1, 2, 3, 4)]
COLUMNS = ("epoch", "kind", "layer", "head", "criterion", "normalised", "value")


def names(found):
    return " ".join(str(head) for unit in found for head in unit)


@pytest.mark.parametrize(
    ("name", "whole", "half"),
    [
        ("shapley", 256, 256),
        ("backward-elimination", 256, 256),
        ("attention-attribution", 200, 200),
        ("gradient-example", 729, 729),
    ],
)
def test_signatures_say_how_many_examples_a_criterion_uses(name, whole, half):
    score = criterion(name).score
    assert (count_used(score, 729), count_used(score, 729, 1)) == (whole, half)
    assert (count_used(score, 150), count_used(score, 300, 0)) == (150, 300)  # as many as there are, in the set


def test_layers_from_the_top_and_from_the_bottom():
    for sites, expected in (
        (SITES, "A1:1 A1:2 D1:1 D1:2 E1:1 E1:2"),
        ([Site("E", 1, 2), Site("E", 2, 1)], "E2:1 E1:1 E1:2"),
        # the last of two layers is as high as the only one of the decoder; the second of four as the first of two
        ([*ENCODER, Site("D", 1, 1)], "D1:1 E4:1 E3:1 E2:1 E1:1"),
        ([*ENCODER, Site("A", 1, 1), Site("A", 2, 1)], "A2:1 E4:1 E3:1 A1:1 E2:1 E1:1"),
    ):
        own = single_units(all_heads(sites))
        assert names(top_first(own)) == expected
        assert names(bottom_first(own)) == " ".join(reversed(expected.split()))


def test_points_of_a_curve():
    for heads, step, expected in (
        (72, 0.1, [0, 7, 14, 22, 29, 36, 43, 50, 58, 65, 72]),
        (24, 0.1, [0, 2, 5, 7, 10, 12, 14, 17, 19, 22, 24]),
        (8, 0.25, [0, 2, 4, 6, 8]),
        (3, 0.1, [0, 1, 2, 3]),
        (1, 0.1, [0, 1]),
        (10, 1, [0, 10]),
        (10, 0.3, [0, 3, 7, 10]),
        (10, 0.7, [0, 10]),
    ):
        assert step_sizes(heads, step) == expected, (heads, step)


def test_least_important_first_with_ties_in_table_order():
    scores = dict(zip(EVERY_HEAD, [0.5, 0.1, 0.5, 0.1, 0.0, 0.5]))
    assert names(single_units(EVERY_HEAD)) == "E1:1 E1:2 A1:1 A1:2 D1:1 D1:2"
    assert names(least_important_first(scores, single_units(EVERY_HEAD))) == "D1:1 E1:2 A1:2 E1:1 A1:1 D1:2"
    assert names(least_important_first(scores, single_units(EVERY_HEAD[::-1]))) == "D1:1 E1:2 A1:2 E1:1 A1:1 D1:2"
    assert names(least_important_first(scores, single_units(all_heads(SITES, "E")))) == "E1:2 E1:1"
    with pytest.raises(HeadroomError, match="head D1:2: no score"):
        least_important_first(dict.fromkeys(EVERY_HEAD[:-1], 1.0), single_units(EVERY_HEAD))


def test_a_group_scores_the_sum_of_its_heads_and_pairs_are_compared_in_turn():
    e1, e2, a1, a2, d1, d2 = EVERY_HEAD
    pairs = [(e1, e2), (a1, a2), (d1, d2)]
    scores = dict(zip(EVERY_HEAD, [0.1, 0.6, 0.3, 0.3, 0.5, 0.2]))
    assert least_important_first(scores, pairs) == [(a1, a2), (e1, e2), (d1, d2)]
    ties = {head: (float(head.kind == "E"), number) for number, head in enumerate(EVERY_HEAD)}
    assert least_important_first(ties, pairs) == [(a1, a2), (d1, d2), (e1, e2)]


def test_a_curve_removes_whole_groups():
    e1, e2, a1, a2, d1, d2 = EVERY_HEAD
    order = Order("own", [(a1, a2), (e1,), (e2, d1, d2)])
    assert profiles(order, 0.3) == [frozenset(), {a1, a2}, {a1, a2, e1}, frozenset(EVERY_HEAD)]


def test_random_orders_depend_on_the_seed_alone():
    first = random_order(single_units(EVERY_HEAD), 0)
    assert sorted(first) == single_units(EVERY_HEAD)
    assert random_order(single_units(EVERY_HEAD), 0) == first
    assert random_order(single_units(EVERY_HEAD[::-1]), 0) == first
    assert len({names(random_order(single_units(EVERY_HEAD), seed)) for seed in range(5)}) > 3
    assert first != single_units(EVERY_HEAD)


def test_scored_anew_after_every_step_by_hand():
    """Steps of two: a head that matters only once another is gone moves back, and gone heads stay gone."""
    e1, e2, a1, a2, d1, d2 = EVERY_HEAD
    tables = {
        frozenset(): [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        frozenset([e1, e2]): [0.0, 0.0, 9.0, 0.4, 0.5, 0.2],  # A1:1 now matters most; gone heads score 0
        frozenset([e1, e2, d2, a2]): [0.0, 0.0, 0.7, 0.0, 0.7, 0.0],
    }
    asked = []

    def scores(gone):
        asked.append(gone)
        return dict(zip(EVERY_HEAD, tables[gone]))

    assert rescore_order(single_units(EVERY_HEAD), [0, 2, 4, 6], scores) == single_units([e1, e2, d2, a2, a1, d1])
    assert asked == list(tables)


def test_scores_of_one_epoch_are_read_and_what_is_not_there_is_named_with_what_is(tmp_path):
    rows = [
        dict(zip(COLUMNS, (epoch, head.kind, head.layer, head.head, criterion, "raw", 10 * epoch + i)))
        for epoch in (1, 2)
        for criterion in ("gradient-example", "gradient-token")
        for i, head in enumerate(EVERY_HEAD)
    ]
    path, own = write_rows(SCORES, tmp_path / "scores.csv", rows), {"epoch": 2, "criterion": "gradient-token"}
    assert read_scores(path, **own) == dict(zip(EVERY_HEAD, [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]))
    for wanted in ({**own, "epoch": 3}, {**own, "criterion": "magnitude"}, {**own, "normalised": "layer"}):
        with pytest.raises(HeadroomError, match="only by gradient-example and gradient-token at epoch 1 and 2; rerun"):
            read_scores(path, **wanted)
