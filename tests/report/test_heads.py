"""The panel of a head: its numbers against small tables worked out by hand, and what it does in a real browser."""

import json
from pathlib import Path
from typing import Any

import pytest
from headroom.core.heads import Head
from headroom.figures.atlas import Mark, draw_atlases
from headroom.report.heads import heads_data
from headroom.study.maps import AttentionMap
from headroom.study.tables import StudyTables
from report.chromium import Page
from report.test_explorer import page_with, small_pruning, small_scores
from tables import CLASSIFIER, RUN, study

Row = dict[str, Any]


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
    tables = study(
        directory,
        ablation=small_ablation() + classifier,
        attention_stats=small_stats(),
        gates=gates,
        pruned_models=models,
        pruning=small_pruning(),
        roles=small_roles(),
        scores=small_scores(),
    )
    weights = ((0.05, 0.95), (0.5, 0.5))
    words = ("a", "b")
    tables.maps = [
        AttentionMap(RUN, Head("E", 1, place), "positional", "-1", 1, words, words, weights) for place in (1, 2)
    ]
    return tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> StudyTables:
    return small_study(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def task(tables: StudyTables) -> dict[str, Any]:
    return json.loads(heads_data(tables))["tasks"][0]


def rows_of(task: dict[str, Any], title: str, head: str) -> dict[str, list[str]]:
    """Return the rows of a head in a block, by their labels."""
    place = [block["title"] for block in task["blocks"]].index(title)
    labels, cells = task["blocks"][place]["rows"], task["heads"][head][place]
    if len(cells) == len(labels):
        return dict(zip(labels, cells))
    return {labels[number]: rest for number, *rest in cells}


# What is in the data


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


# What a reader does with it


@pytest.fixture(scope="module")
def written(tables: StudyTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    atlas = "".join(draw_atlases({Head("E", 1, place): Mark(0.5, "0.5") for place in (1, 2)}))
    point = '<svg viewBox="0 0 9 9" width="40"><g class="cell" data-head="E1:1"><rect width="9" height="9"/></g></svg>'
    pager = '<input type="radio" name="map" checked><input type="radio" name="map">'
    more = f'<figure data-task="sst2"><div id="second">{atlas}</div><div id="point">{point}</div></figure>'
    return page_with(tmp_path_factory.mktemp("page"), tables, f'{more}<figure id="figure-maps">{pager}</figure>')


PANEL = "#head-panel"
OPEN = f"document.querySelector('{PANEL}').open"
FIRST = '.explored[data-task="translation"] .cell[data-head="E1:1"]'
ACTIVE = "document.activeElement.dataset.head ?? document.activeElement.className"


def test_a_click_opens_the_panel_and_escape_closes_it(browser: Page, written: Path) -> None:
    browser.open(written)
    assert browser.evaluate(OPEN) is False
    browser.click(FIRST)
    assert browser.evaluate(OPEN) is True
    text = browser.text(PANEL)
    assert "Head E1:1" in text
    assert "Head 1 of layer 1, encoder self-attention. Translation, baseline, seed 1." in text
    assert "BLEU on test−4.00 [−5.00, −3.00]0.04" in text
    assert "It holds none of the roles that were tested." in text
    assert browser.evaluate("location.hash") == "#head=E1:1"
    assert browser.evaluate(ACTIVE) == "close"
    panel, cell = (f"document.querySelector('{one}').getBoundingClientRect()" for one in (PANEL, FIRST))
    assert browser.evaluate(f"{cell}.right < {panel}.left || {panel}.right < {cell}.left")
    browser.press("Escape")
    assert browser.evaluate(OPEN) is False
    assert browser.evaluate(ACTIVE) == "E1:1"
    assert browser.evaluate("[location.hash, errors.length, document.querySelectorAll('.cell.read').length]") == [
        *("", 0, 0)
    ]


def test_the_keyboard_alone_opens_moves_and_closes_it(browser: Page, written: Path) -> None:
    browser.open(written)
    browser.focus(FIRST)
    browser.press("ArrowRight", "Enter")
    assert browser.text(f"{PANEL} h2") == "Head E1:2"
    browser.press("Enter")  # on the button
    assert browser.evaluate(OPEN) is False
    assert browser.evaluate(ACTIVE) == "E1:2"
    assert browser.evaluate(f"document.querySelector('{FIRST}').getAttribute('role')") == "button"


def test_the_address_opens_a_head(browser: Page, written: Path) -> None:
    browser.open(written, "head=A1:1")
    assert browser.text(f"{PANEL} h2") == "Head A1:1"
    browser.evaluate("location.hash = 'head=sst2/E1:1'")
    browser.wait_for(f"document.querySelector('{PANEL}').textContent.includes('SST-2')")
    for unknown in ("head=E9:9", "head=none/E1:1", "head=toString", "head=/", "head=__proto__/E1:1"):
        browser.open(written, unknown)
        assert browser.evaluate("[document.querySelector('#head-panel').open, errors.length]") == [False, 0]


def test_it_fits_a_phone(browser: Page, written: Path) -> None:
    browser.size(360)
    try:
        browser.open(written, "head=E1:2")
        assert browser.evaluate("document.documentElement.scrollWidth") == 360
        assert browser.evaluate(f"document.querySelector('{PANEL}').scrollWidth") <= 360
    finally:
        browser.size(1280)
