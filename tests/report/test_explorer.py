"""The explorer and the panel of a head: what the page has of them, against small tables worked out by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from headroom.figures.drawing import embed_data
from headroom.report.explorer import explorer
from headroom.report.heads import heads_data
from headroom.study.tables import StudyTables
from tables import CLASSIFIER, RUN, study

Row = dict[str, Any]

HEADS = ("E1:1", "E1:2", "A1:1", "A1:2", "D1:1", "D1:2")

HOSTILE = '</script><img src=x onerror=document["title"]="owned">,%2C'
"""A name that would run if it were markup, and that would end early if it were not quoted in the address."""


def curve(run: str, order: str, steps: Sequence[tuple[str, float]], **values: Any) -> list[Row]:
    """Return the rows of one order: at every step the heads removed and the score; the intervals are 1 to each side."""
    full = steps[0][1]
    rows = []
    for removed, value in steps:
        change = {"value": value, "full": full, "low": value - full - 1, "high": value - full + 1}
        size = {"heads_removed": len(removed.split()), "heads_total": 6, "removed": removed}
        row = {"run": run, "scope": "all", "order": order, "normalised": "", "ranking": "fixed", "draw": 0}
        rows.append(row | change | size | values)
    return rows


def small_pruning() -> list[Row]:
    """Return three orders of a model with six heads, and one of a classifier with chance at 50."""
    gradient = [("", 80.0), ("E1:2", 78.0), ("E1:2 A1:1 D1:2", 40.0), (" ".join(HEADS), 0.0)]
    backwards = [("", 80.0), ("A1:2", 20.0), ("E1:1 A1:2 D1:1", 4.0), (" ".join(HEADS), 0.0)]
    drawn = [("", 80.0), ("E1:1 E1:2", 50.0), (" ".join(HEADS), 0.0)]
    accuracy = [("", 90.0), ("E1:1", 80.0), ("E1:1 E1:2", 50.0)]
    classifier = {"metric": "accuracy", "chance": 50.0, "heads_total": 2, "normalised": "raw"}
    return [
        *curve(RUN, "gradient-example", gradient, normalised="raw"),
        *curve(RUN, "random", drawn),
        *curve(RUN, "random", [(names, 0.5 * value) for names, value in drawn], draw=1, full=80.0),
        *curve(RUN, "reverse", backwards),
        *curve(RUN, "gradient-example", gradient[:2], normalised="raw", scope="E"),
        *curve(CLASSIFIER, "gradient-example", accuracy, **classifier),
    ]


def small_scores() -> list[Row]:
    where = {"criterion": "gradient-example", "normalised": "raw"}
    heads = [(name[0], int(name[1]), int(name[3])) for name in HEADS]
    return [
        {**where, "kind": kind, "layer": layer, "head": head, "value": float(place)}
        for place, (kind, layer, head) in enumerate(heads, start=1)
    ]


def named(head: str) -> Row:
    return {"kind": head[0], "layer": int(head[1]), "head": int(head[3])}


def small_ablation() -> list[Row]:
    """Return the effects of three heads on two sets: on test E1:1 hurts most, then A1:1; E1:2 helps."""
    effects = {"test": {"E1:1": -4.0, "E1:2": 0.25, "A1:1": -0.5}, "far": {"E1:1": -1.0, "E1:2": 0.0, "A1:1": 0.0}}
    return [
        named(head) | {"set": name, "delta": delta, "low": delta - 1, "high": delta + 1, "p_holm": 0.04, "full": 80.0}
        for name, deltas in effects.items()
        for head, delta in deltas.items()
    ]


def small_stats() -> list[Row]:
    where = {"model": "trained", "measure": "confidence", "half": "all"}
    values = {"E1:1": 0.25, "E1:2": 0.5, "A1:1": 0.25}
    return [
        where | named(head) | {"value": value, "low": value - 0.125, "high": value + 0.125}
        for head, value in values.items()
    ]


def small_models() -> tuple[list[Row], list[Row]]:
    """Return gates of two penalties over the encoder, and the models of the first penalty and of a random layout."""
    way = {"method": "hard-concrete", "scope": "E"}
    gates = [
        way | named(head) | {"setting": setting, "kept": kept}
        for setting, kept_heads in ((0.01, "E1:2"), (0.1, ""))
        for head in ("E1:1", "E1:2")
        for kept in [int(head in kept_heads)]
    ]
    kept = {"kept": 1, "heads": 2, "gates": "hard", "draw": 0, "start": "converged", "removed": "E1:1"}
    score = {"value": 79.0, "full": 80.0, "low": -2.0, "high": 0.0}
    models = [way | kept | score | {"setting": 0.01}, way | kept | score | {"setting": 1, "method": "random"}]
    return gates, models


def small_roles() -> list[Row]:
    return [
        named("E1:2") | {"model": "trained", "role": "positional", "target": "-1", "value": 0.9, "baseline": ""},
        named("E1:2") | {"model": "untrained", "role": "positional", "target": "+1", "value": 0.9},
        named("E1:1") | {"model": "trained", "trees": "shuffled", "role": "syntactic", "target": "nsubj:to-dependent"},
    ]


def small_study(directory: Path) -> StudyTables:
    gates, models = small_models()
    classifier = [row | {"run": CLASSIFIER, "metric": "accuracy"} for row in small_ablation() if row["kind"] == "E"]
    return study(
        directory,
        ablation=small_ablation() + classifier,
        attention_stats=small_stats(),
        gates=gates,
        pruned_models=models,
        pruning=small_pruning(),
        roles=small_roles(),
        scores=small_scores(),
    )


def write_map(directory: Path) -> Path:
    """Write the attention of two heads, and return the path."""
    shown = {"role": "positional", "target": "-1", "sentence": 1, "queries": ["a", "b"], "keys": ["a", "b"]}
    weights = [[0.05, 0.95], [0.5, 0.5]]
    maps = [shown | {"head": head, "weights": weights} for head in ("E1:1", "E1:2")]
    directory.mkdir()
    path = directory / f"{RUN}.json"
    path.write_text(json.dumps({"run": RUN, "epoch": 8, "maps": maps}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> StudyTables:
    return small_study(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def data(tables: StudyTables) -> list[dict[str, Any]]:
    found = explorer(tables)
    assert found is not None
    return json.loads(found.data)["tasks"]


@pytest.fixture(scope="module")
def task(tables: StudyTables) -> dict[str, Any]:
    return json.loads(heads_data(tables))["tasks"][0]


def test_every_step_has_its_score_its_share_and_who_is_gone(data: list[dict[str, Any]]) -> None:
    order = data[0]["orders"][0]
    assert (order["key"], order["name"]) == ("gradient-example:raw:fixed", "gradient, per example")
    assert order["removed"] == [0, 1, 3, 6]
    assert order["height"] == [100.0, 97.5, 50.0, 0.0]
    assert order["score"] == [
        "80.0 BLEU, 100\u202f% of its score",
        "78.0 BLEU, 98\u202f% of its score; with all heads 80.0, a change of −2.00 [−3.00, −1.00]",
        "40.0 BLEU, 50\u202f% of its score; with all heads 80.0, a change of −40.0 [−41.0, −39.0]",
        "0 BLEU, 0\u202f% of its score; with all heads 80.0, a change of −80.0 [−81.0, −79.0]",
    ]
    assert order["gone"] == ["00", "20", "62", "f3"]  # E1:2 is bit 1 of the first digit, D1:2 bit 1 of the second


def test_shares_of_a_classifier_begin_at_chance(data: list[dict[str, Any]]) -> None:
    order = data[1]["orders"][0]
    assert order["height"] == [100.0, 75.0, 0.0]
    assert order["score"][1].startswith("80.0 % accuracy, 75\u202f% of its score above chance; with all heads 90.0, ")


def test_data_ends_no_script_and_steers_nothing() -> None:
    text = embed_data({"a": ["</script><!--", "\x1b[2J", "\u202e"], "\x00": None})
    assert "<" not in text
    assert json.loads(text) == {"a": ["</script><!--", "\u241b[2J", "\ufffd"], "\u2400": None}


def rows_of(task: dict[str, Any], title: str, head: str) -> dict[str, list[str]]:
    """Return the rows of a head in a block, by their labels."""
    place = [block["title"] for block in task["blocks"]].index(title)
    labels, cells = task["blocks"][place]["rows"], task["heads"][head][place]
    if len(cells) == len(labels):
        return dict(zip(labels, cells))
    return {labels[number]: rest for number, *rest in cells}


def test_effects_are_those_of_the_table(task: dict[str, Any]) -> None:
    assert rows_of(task, "Removed alone", "E1:1") == {
        "BLEU on test": ["−4.00 [−5.00, −3.00]", "0.04"],
        "BLEU on far": ["−1.00 [−2.00, 0.00]", "0.04"],
    }
    assert rows_of(task, "Removed alone", "E1:2")["BLEU on test"] == ["+0.25 [−0.75, 1.25]", "0.04"]


def test_ranks_begin_with_the_most_important_head(task: dict[str, Any]) -> None:
    assert rows_of(task, "By every criterion", "E1:1") == {
        "gradient, per example": ["1.00", "6 of 6"],
        "loss when removed alone (BLEU)": ["4.00", "1 of 3"],
        "confidence": ["0.250 [0.125, 0.375]", "2 of 3"],
    }
    assert rows_of(task, "By every criterion", "A1:1")["confidence"][1] == "2 of 3"  # as E1:1: equals share the best
    assert rows_of(task, "By every criterion", "D1:2") == {"gradient, per example": ["6.00", "1 of 6"]}


def test_roles_are_those_of_the_trained_model_on_real_trees(task: dict[str, Any]) -> None:
    assert rows_of(task, "Roles", "E1:2") == {"position −1": ["90\u202f%", "–"]}
    assert rows_of(task, "Roles", "E1:1") == {}
    assert next(block["empty"] for block in task["blocks"] if block["title"] == "Roles")


def test_a_head_goes_with_the_first_step_that_lacks_it(task: dict[str, Any]) -> None:
    assert rows_of(task, "Order of removal", "E1:2") == {
        "gradient, per example": ["1 of 6"],
        "random (one draw)": ["2 of 6"],
        "reverse (highest first)": ["6 of 6"],
    }
    assert rows_of(task, "Order of removal", "D1:2")["gradient, per example"] == ["3 of 6"]
