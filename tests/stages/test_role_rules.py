"""The rules by which heads hold roles, on rows written by hand."""

import pandas
import pytest
from headroom.core import tables
from headroom.settings.experiments import RoleSettings
from headroom.stages.roles import exceeds, find_roles


def row(**values):
    given = dict.fromkeys(tables.ATTENTION_STATS.names, "")
    return {
        **given, "study": "s", "run": "r", "epoch": 2, "model": "trained", "kind": "E", "layer": 1, "head": 1,
        "baseline": float("nan"), "low": float("nan"), "high": float("nan"), "count": 100, **values,
    }  # fmt: skip


def offset(target, value, **values):
    return row(measure="offset", target=target, half="all", value=value, **values)


def relation(half, value, *, baseline=0.4, low=0.05, **values):
    given = {"measure": "relation", "target": "obj:to-governor", "trees": "gold", **values}
    return row(half=half, value=value, baseline=baseline, low=low, high=0.3, **given)


def rare(value, *, low=0.1, target="two-rarest", **values):
    return row(measure="rare", target=target, half="all", value=value, baseline=0.2, low=low, high=0.5, **values)


def roles(*rows, **rule):
    found = find_roles(pandas.DataFrame(list(rows)), RoleSettings(**rule))
    return [(one.role, one.row["head"], one.row["target"], one.best) for one in found]


def test_positional_from_the_share_on():
    rows = [offset("-1", 0.9), offset("+1", 0.8999, head=2), offset("0", 0.95, kind="D", head=3)]
    assert roles(*rows) == [("positional", 1, "-1", 0), ("positional", 3, "0", 0)]
    assert roles(*rows, positional_share=0.89) == [
        ("positional", 1, "-1", 0), ("positional", 2, "+1", 0), ("positional", 3, "0", 0),
    ]  # fmt: skip


def test_syntactic_on_both_halves():
    assert roles(relation("choose", 0.5), relation("score", 0.5)) == [("syntactic", 1, "obj:to-governor", 1)]
    assert roles(relation("choose", 0.499), relation("score", 0.5)) == []
    assert roles(relation("choose", 0.5), relation("score", 0.499)) == []
    assert roles(relation("choose", 0.5), relation("score", 0.5, low=-0.01)) == [], "a few lucky sentences"
    assert roles(relation("score", 0.9)) == []


def test_the_best_head_is_best_on_the_half_that_chooses():
    rows = [
        relation("choose", 0.6), relation("score", 0.9),
        relation("choose", 0.7, head=2), relation("score", 0.55, head=2),
        relation("choose", 0.45, head=3), relation("score", 0.95, head=3),
    ]  # fmt: skip
    assert roles(*rows) == [("syntactic", 1, "obj:to-governor", 0), ("syntactic", 2, "obj:to-governor", 1)]


def test_models_and_trees_are_judged_each_alone():
    rows = [
        relation("choose", 0.6), relation("score", 0.6),
        relation("choose", 0.7, head=2, trees="shuffled"), relation("score", 0.7, head=2, trees="shuffled"),
        relation("choose", 0.8, head=3, model="untrained"), relation("score", 0.8, head=3, model="untrained"),
    ]  # fmt: skip
    assert {(head, best) for _, head, _, best in roles(*rows)} == {(1, 1), (2, 1), (3, 1)}


@pytest.mark.parametrize(
    ("unit", "value", "baseline", "passes"),
    [
        ("points", 0.52, 0.46, False), ("points", 0.57, 0.46, True), ("points", 0.8, 0.7, True),
        ("relative", 0.52, 0.46, True), ("relative", 0.5, 0.46, False), ("relative", 0.8, 0.72, True),
        ("relative", 0.0, 0.0, False), ("relative", 0.01, 0.0, True),
    ],
)  # fmt: skip
def test_a_margin_is_of_points_or_of_the_baseline(unit, value, baseline, passes):
    rows = pandas.DataFrame([relation("score", value, baseline=baseline)])
    assert exceeds(rows, RoleSettings(margin_unit=unit)).tolist() == [passes]


def test_rare_words_in_the_first_layer_and_beyond_chance():
    assert roles(rare(0.5)) == [("rare", 1, "two-rarest", 0)]
    assert roles(rare(0.49)) == []
    assert roles(rare(0.49), rare_share=0.4) == [("rare", 1, "two-rarest", 0)]
    assert roles(rare(0.6, low=-0.01)) == []
    assert roles(rare(0.6, layer=2)) == []
    assert roles(rare(0.6, target="rarest")) == []
