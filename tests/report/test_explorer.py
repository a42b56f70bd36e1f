"""The explorer: its numbers against small tables worked out by hand, and its live form in a real browser."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pytest
from headroom.core.heads import Head
from headroom.figures import drawing, palette
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.embedding import embed_data
from headroom.report.explorer import Explorer, explorer
from headroom.report.explorer_panel import link_panel
from headroom.report.heads import heads_data
from headroom.report.page import TEMPLATES
from headroom.study.tables import StudyTables
from markupsafe import Markup
from report.chromium import Page
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


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> StudyTables:
    return study(tmp_path_factory.mktemp("small"), pruning=small_pruning(), scores=small_scores())


@pytest.fixture(scope="module")
def found(tables: StudyTables) -> Explorer:
    made = explorer(tables)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def data(found: Explorer) -> list[dict[str, Any]]:
    return json.loads(found.data)["tasks"]


def page_with(directory: Path, tables: StudyTables, more: str = "") -> Path:
    """Write a page that has the explorer, the panel of a head, and more, as the report puts them together."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    macros = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    module: Any = macros.get_template("explorer.html.j2").module
    light, _ = palette.style_variables()
    styles = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "explorer.css"))
    names = ("state.js", "page.js", "explorer.js", "head.js")
    scripts = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    page = Markup(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,'
        ' initial-scale=1"><title>ours</title><style>:root{{{}}}{}</style><main><h1>page</h1>{}{}<p id="far" style='
        '"margin-top:3000px">far</p></main>{}<script>{}</script></html>'
    )
    body = module.explorer(explorer(tables)), Markup(more), module.heads(heads_data(tables))
    path = directory / "page.html"
    path.write_text(page.format(light, Markup(styles), *body, Markup(scripts)), encoding="utf-8")
    return path


def linked_panel(**values: Any) -> Markup:
    """Return a panel whose horizontal axis goes from 0 to 100, with a line from (0, 0) to (50, 10)."""
    with drawing.panel("other", x_label="heads removed (%)", y_label="score") as panel:
        panel.axes.plot([0, 50], [0, 10], gid="line:known")
        panel.axes.set(xlim=(0, 100), ylim=(0, 20))
    return link_panel(panel, heads=6, **values)


# What is in the page


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


@pytest.mark.long
def test_the_made_up_study_fits_its_budget(example_tables: StudyTables) -> None:
    made = explorer(example_tables)
    assert made is not None
    assert [view.task for view in made.views] == example_tables.tasks
    assert len(made.data) + len(heads_data(example_tables)) < 150_000


# What a reader does with it


@pytest.fixture(scope="module")
def written(tables: StudyTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    atlas = "".join(draw_atlases({Head("E", 1, 1): Mark(0.5, "0.5"), Head("A", 1, 1): Mark(0.5, "0.5")}))
    more = f'<figure id="other" data-task="translation">{linked_panel()}<div class="panel">{atlas}</div></figure>'
    return page_with(tmp_path_factory.mktemp("page"), tables, more)


SAID = ".explored-said"
RANGE = ".explored-count input"
GONE = "[...document.querySelectorAll('.explored:not([hidden]) .cell.gone')].map((cell) => cell.dataset.head)"
HASH = "decodeURIComponent(location.hash)"
MARK = "document.querySelector('#other .explored-mark path').getAttribute('d')"


def test_the_slider_moves_heads_marks_and_text(browser: Page, written: Path) -> None:
    browser.open(written)
    assert browser.text(SAID).startswith("1 of 6 heads removed: 78.0 BLEU, 98 % of its score; with all heads 80.0, ")
    before = browser.evaluate(MARK)
    browser.focus(RANGE)
    browser.press("ArrowRight")
    assert browser.text(SAID).startswith("3 of 6 heads removed: 40.0 BLEU, 50 % of its score; ")
    assert browser.evaluate(GONE) == ["E1:2", "A1:1", "D1:2"]
    assert browser.evaluate("getComputedStyle(document.querySelector('.cell.gone .cross')).display") == "inline"
    assert browser.evaluate("document.querySelector('.cell.gone title').textContent") == "E1:2: 2.00; removed"
    assert browser.evaluate(f"document.querySelector('{RANGE}').getAttribute('aria-valuetext')") == "3 of 6"
    assert browser.evaluate(MARK) != before
    assert browser.evaluate(HASH) == "#explore=translation,gradient-example:raw:fixed,3"
    browser.press("End")
    assert browser.text(SAID).startswith("6 of 6 heads removed")
    browser.press("Home")
    assert browser.text(SAID) == "0 of 6 heads removed: 80.0 BLEU, 100 % of its score"
    assert browser.evaluate(GONE) == []
    assert browser.evaluate("errors") == []


def test_another_order_keeps_the_number_of_heads(browser: Page, written: Path) -> None:
    browser.open(written, "explore=translation,gradient-example:raw:fixed,3")
    browser.focus(".explored-order select")
    browser.press("End")
    assert browser.text(SAID).startswith("3 of 6 heads removed: 4.00 BLEU, 5 % of its score; ")
    assert browser.evaluate(GONE) == ["E1:1", "A1:2", "D1:1"]
    shown = "[...document.querySelectorAll('.order-line.chosen')].map((line) => line.dataset.order)"
    assert browser.evaluate(shown) == ["reverse::fixed"]
    assert browser.evaluate(HASH) == "#explore=translation,reverse::fixed,3"
    browser.press("ArrowUp")  # of the random order 2 is nearest to 3: only measured steps are shown
    assert browser.text(SAID).startswith("2 of 6 heads removed: 50.0 BLEU")


def test_the_address_restores_it(browser: Page, written: Path) -> None:
    browser.open(written, "explore=sst2,gradient-example:raw:fixed,1")
    assert browser.text(SAID).startswith("1 of 2 heads removed: 80.0 % accuracy, 75 % of its score above chance; ")
    browser.evaluate("location.hash = 'explore=translation,reverse::fixed,1'")
    browser.wait_for(f"document.querySelector('{SAID}').textContent.startsWith('1 of 6 heads removed: 20.0 BLEU')")
    for wrong in ("explore=none,none,x", "explore=", "explore=%E0%A4%A,1", "explore=translation"):
        browser.open(written, wrong)
        assert " of 6 heads removed" in browser.text(SAID)
        assert browser.evaluate("errors") == []


def test_without_scripts_four_steps_are_shown(browser: Page, written: Path) -> None:
    browser.scripts(on=False)
    try:
        browser.open(written)
        heights = "Array.from(document.querySelectorAll('{}'), (one) => one.getBoundingClientRect().height)"
        assert browser.evaluate("document.querySelector('.explorer').classList.contains('live')") is False
        assert all(height > 10 for height in browser.evaluate(heights.format(".explorer > .explored li svg")))
        assert set(browser.evaluate(heights.format(".explored-controls, .cross"))) <= {0}
        assert "3 of 6: 50 %" in browser.text(".explored-steps")
        assert browser.evaluate("document.querySelectorAll('.explorer > details .explored').length") == 1
    finally:
        browser.scripts(on=True)


@pytest.mark.parametrize("scripts", [True, False])
def test_it_fits_a_phone(browser: Page, written: Path, scripts: bool) -> None:
    browser.size(360)
    browser.scripts(on=scripts)
    try:
        browser.open(written)
        assert browser.evaluate("document.documentElement.scrollWidth") == 360
        widths = "[...document.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect().right)"
        assert max(browser.evaluate(widths)) <= 360
    finally:
        browser.scripts(on=True)
        browser.size(1280)


def test_hostile_names_stay_text(browser: Page, tmp_path: Path) -> None:
    run = f"{HOSTILE}.baseline.seed1"
    rows = curve(run, "gradient-example", [("", 80.0), ("E1:1", 60.0)], normalised="raw")
    rows += curve(run, HOSTILE, [("", 80.0), ("E1:1", 50.0)])
    rows += curve(RUN, "gradient-example", [("", 80.0), ("E1:1", 60.0)], normalised="raw")
    page = page_with(tmp_path, study(tmp_path, pruning=rows))
    browser.open(page)
    browser.focus(".explored-task select")
    browser.press("ArrowDown")
    browser.focus(".explored-order select")
    browser.press("End")
    assert browser.evaluate("[document.title, errors.length, document.images.length]") == ["ours", 0, 0]
    assert HOSTILE in browser.text(".explored:not([hidden]) .explored-name")
    browser.focus(RANGE)
    browser.press("End")
    said = browser.text(SAID)
    assert said.startswith("1 of 6 heads removed: 50.0")
    anchor = browser.evaluate("location.hash.slice(1)")
    browser.open(page, anchor)
    assert browser.text(SAID) == said
    assert browser.evaluate(f"{HASH}.includes('onerror')")
