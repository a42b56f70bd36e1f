"""Roles of heads by where they point: the rules on rows written by hand, and the stage on tables of several models."""

import pandas
import pytest
from headroom.experiments.attention_stats.table import ATTENTION_STATS
from headroom.experiments.roles import stage as roles
from headroom.experiments.roles.stage import exceeds, find_roles
from headroom.experiments.roles.table import ROLES
from tables import write_rows


def pointing(path, model, **changes):
    lead = {"study": "toy", "run": "translation.baseline.seed1", "epoch": 2, "model": model, "kind": "E", "layer": 1}
    empty = dict.fromkeys(("trees", "baseline", "low", "high"), "")
    rows = [
        {**lead, **empty, "head": 1, "measure": "offset", "target": "+1", "half": "all", "value": 0.95, "count": 9},
        {**lead, **empty, "head": 2, "measure": "offset", "target": "+1", "half": "all", "value": 0.85, "count": 9},
        *(
            {**lead, "head": 2, "measure": "relation", "target": "obj:to-governor", "trees": trees, "half": half,
             "value": value, "baseline": 0.4, "low": 0.1, "high": 0.3, "count": 50}
            for trees, value in (("gold", 0.6), ("shuffled", 0.42))
            for half in ("choose", "score")
        ),
    ]  # fmt: skip
    return write_rows(ATTENTION_STATS, path, [{**row, "signature": "set:check", **changes} for row in rows])


def test_roles_of_several_tables(tmp_path):
    paths = [pointing(tmp_path / f"{name}.csv", name) for name in ("trained", "hard-concrete.E.0.01")]
    roles.main(["--pointing", *map(str, paths), "--output", str(tmp_path / "roles.csv")])
    table = ROLES.read(tmp_path / "roles.csv")
    shown = table[["model", "trees", "head", "role", "target", "value", "baseline", "best"]].fillna(-1).values.tolist()
    assert shown == [
        ["trained", "", 1, "positional", "+1", 0.95, -1, 0],
        ["trained", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
        ["hard-concrete.E.0.01", "", 1, "positional", "+1", 0.95, -1, 0],
        ["hard-concrete.E.0.01", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
    ]
    assert table["signature"][0] == "set:check|share:0.9"
    assert table["signature"][1] == "set:check|margin:0.1-points"


def row(**values):
    given = dict.fromkeys(ATTENTION_STATS.names, "")
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


def held(*rows):
    found = find_roles(pandas.DataFrame(list(rows)))
    return [(one.role, one.row["head"], one.row["target"], one.best) for one in found]


def test_positional_from_the_share_on():
    rows = [offset("-1", 0.9), offset("+1", 0.8999, head=2), offset("0", 0.95, kind="D", head=3)]
    assert held(*rows) == [("positional", 1, "-1", 0), ("positional", 3, "0", 0)]


def test_syntactic_on_both_halves():
    assert held(relation("choose", 0.5), relation("score", 0.5)) == [("syntactic", 1, "obj:to-governor", 1)]
    assert held(relation("choose", 0.499), relation("score", 0.5)) == []
    assert held(relation("choose", 0.5), relation("score", 0.499)) == []
    assert held(relation("choose", 0.5), relation("score", 0.5, low=-0.01)) == [], "a few lucky sentences"
    assert held(relation("score", 0.9)) == []


def test_the_best_head_is_best_on_the_half_that_chooses():
    rows = [
        relation("choose", 0.6), relation("score", 0.9),
        relation("choose", 0.7, head=2), relation("score", 0.55, head=2),
        relation("choose", 0.45, head=3), relation("score", 0.95, head=3),
    ]  # fmt: skip
    assert held(*rows) == [("syntactic", 1, "obj:to-governor", 0), ("syntactic", 2, "obj:to-governor", 1)]


def test_models_and_trees_are_judged_each_alone():
    rows = [
        relation("choose", 0.6), relation("score", 0.6),
        relation("choose", 0.7, head=2, trees="shuffled"), relation("score", 0.7, head=2, trees="shuffled"),
        relation("choose", 0.8, head=3, model="untrained"), relation("score", 0.8, head=3, model="untrained"),
    ]  # fmt: skip
    assert {(head, best) for _, head, _, best in held(*rows)} == {(1, 1), (2, 1), (3, 1)}


@pytest.mark.parametrize(
    ("value", "baseline", "passes"), [(0.52, 0.46, False), (0.57, 0.46, True), (0.8, 0.7, True), (0.01, 0.0, False)]
)
def test_a_margin_is_of_points(value, baseline, passes):
    rows = pandas.DataFrame([relation("score", value, baseline=baseline)])
    assert exceeds(rows).tolist() == [passes]


def test_rare_words_in_the_first_layer_and_beyond_chance():
    assert held(rare(0.5)) == [("rare", 1, "two-rarest", 0)]
    assert held(rare(0.49)) == []
    assert held(rare(0.6, low=-0.01)) == []
    assert held(rare(0.6, layer=2)) == []
    assert held(rare(0.6, target="rarest")) == []
