"""The page in a real browser: no overflow on a phone, no error, hovering links atlases, tables sort."""

import re
from pathlib import Path
from typing import Any

import pytest
from headroom.figures.svg import share_styles
from report.chromium import Page
from report.conftest import Written

WIDE = """
(() => {
  const root = document.documentElement;
  const stick = (one) => one.getBoundingClientRect().width && one.getBoundingClientRect().right > root.clientWidth + 1;
  const open = [...document.querySelectorAll("main *")].filter((one) =>
    !one.closest(".scroll, pre, details:not([open]), svg"));
  return open.filter(stick).map((one) => one.tagName + "." + one.className);
})()
"""
"""The elements that stick out of the page at the right."""

PROBE = """
(() => {
  const cell = document.querySelector('.panels .cell[data-head="E1:1"]');
  cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const lit = [...document.querySelectorAll(".cell.lit")];
  const sortable = document.querySelector("table.data th button");
  sortable.click();
  const pages = [...document.querySelector(".pager").querySelectorAll(".page")];
  const shown = () => pages.map((one) => getComputedStyle(one).display !== "none").indexOf(true);
  const turned = [shown()];
  pages[0].querySelector(".turn label").click();
  turned.push(shown());
  document.querySelectorAll(".pager > label")[3].click();
  turned.push(shown());
  return {
    width: document.documentElement.clientWidth, scroll: document.documentElement.scrollWidth, errors,
    hostile: window.hostile ?? null, turned, lit: lit.length,
    tasks: [...new Set(lit.map((one) => one.closest("[data-task]").dataset.task))],
    readout: cell.closest("figure").querySelector(".readout").textContent,
    sorted: sortable.parentElement.getAttribute("aria-sort"),
    ground: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.querySelector("figure .panel svg")).fill,
  };
})()
"""


def look(browser: Page, page: Path, *, width: int, dark: bool) -> dict[str, Any]:
    """Open a page at a width and return what a probe sees."""
    browser.size(width, dark=dark)
    browser.open(page)
    return browser.evaluate(PROBE) | {"wide": browser.evaluate(WIDE)}


@pytest.fixture(scope="module")
def phone(browser: Page, report: Written) -> dict[str, Any]:
    return look(browser, report.path, width=360, dark=True)


def test_nothing_sticks_out_on_a_phone(phone: dict[str, Any]) -> None:
    assert phone["width"] == 360
    assert phone["scroll"] <= 360
    assert phone["wide"] == []


def test_no_script_fails_and_no_data_runs(phone: dict[str, Any]) -> None:
    assert phone["errors"] == []
    assert phone["hostile"] is None


def test_a_hovered_head_lights_up_in_every_atlas_of_its_task(phone: dict[str, Any]) -> None:
    assert phone["lit"] > 5
    assert phone["tasks"] == ["translation"]
    assert "E1:1" in phone["readout"]


def test_attention_maps_turn_one_at_a_time(phone: dict[str, Any]) -> None:
    assert phone["turned"] == [0, 1, 3]


def test_tables_sort(phone: dict[str, Any]) -> None:
    assert phone["sorted"] == "ascending"


def test_escape_closes_the_text_of_a_claim(browser: Page, report: Written) -> None:
    shown = "[...document.querySelectorAll('.tip')].some((one) => getComputedStyle(one).display !== 'none')"
    browser.size(1280)
    browser.open(report.path)
    browser.focus(".tile")
    browser.press("Tab")
    seen = [browser.evaluate(shown)]
    for key in ("Escape", "Tab"):
        browser.press(key)
        seen.append(browser.evaluate(shown))
    assert seen == [True, False, True]


def test_letters_that_no_font_has_are_named(browser: Page, report: Written, tmp_path: Path) -> None:
    note = "document.querySelector('main > .missing')?.textContent"
    browser.open(report.path)
    assert browser.evaluate(note) is None
    page, letters = tmp_path / "page.html", "a\u00e4\u0301\u0378\u2192\u05cf"  # of which two are no letters
    page.write_text(report.path.read_text("utf-8").replace("<main>", f"<main><p>{letters}</p>"), "utf-8")
    browser.open(page)
    assert "has U+0378, U+05CF: a box" in browser.evaluate(note)


def test_page_and_figures_follow_the_theme(phone: dict[str, Any], browser: Page, report: Written) -> None:
    desk = look(browser, report.path, width=1280, dark=False)
    assert desk["scroll"] <= 1280
    brightness = {name: sum(map(int, re.findall(r"\d+", phone[name])[:3])) for name in ("ground", "ink")}
    assert brightness["ground"] < 150 < brightness["ink"]
    brightness = {name: sum(map(int, re.findall(r"\d+", desk[name])[:3])) for name in ("ground", "ink")}
    assert brightness["ink"] < 150 < brightness["ground"]


DRAWINGS = """<!doctype html><html><head><style>
.panel rect{fill:rgb(1,1,1);stroke:rgb(2,2,2)}.panel .lit rect{stroke:rgb(3,3,3)!important}
</style></head><body id="page"><div class="panel"><svg viewBox="0 0 9 9"><defs>
<path id="mark" d="M0 0h9" style="fill:rgb(4,4,4);stroke:rgb(5,5,5)"/></defs>
<rect width="9" height="9" style="fill:rgb(4,4,4);stroke:rgb(5,5,5)"/>
<g class="lit"><rect class="cell" width="9" height="9" style="fill:rgb(4,4,4);stroke:rgb(5,5,5)"/></g>
<rect width="9" height="9" style="fill:rgb(6,6,6)"/><use href="#mark" style="fill:rgb(7,7,7)"/></svg></div>
<script>"<svg><rect style='fill:rgb(4,4,4);stroke:rgb(5,5,5)'/></svg>"</script></body></html>
"""

LOOKS = """
[...document.querySelectorAll("svg *")].map((one) => [one, getComputedStyle(one)])
  .map(([one, style]) => [one.tagName, style.fill, style.stroke])
"""


def test_shared_styles_look_the_same_and_stay_with_what_is_drawn_elsewhere(browser: Page, tmp_path: Path) -> None:
    (own := tmp_path / "own.html").write_text(DRAWINGS)
    (shared := tmp_path / "shared.html").write_text(share_styles(DRAWINGS))
    browser.open(own)
    looks = browser.evaluate(LOOKS)
    assert looks[3:] == [
        ["g", "rgb(0, 0, 0)", "none"],
        ["rect", "rgb(4, 4, 4)", "rgb(3, 3, 3)"],
        ["rect", "rgb(6, 6, 6)", "rgb(2, 2, 2)"],
        ["use", "rgb(7, 7, 7)", "none"],
    ]
    browser.open(shared)
    assert browser.evaluate(LOOKS) == looks
    assert re.findall('style="([^"]*)"', shared.read_text()) == [
        "fill:rgb(4,4,4);stroke:rgb(5,5,5)",
        "fill:rgb(6,6,6)",
        "fill:rgb(7,7,7)",
    ]
    assert DRAWINGS.split("<script>")[1] in shared.read_text()
