"""The page in a real browser: no overflow on a phone, no error, hovering links atlases, tables sort."""

from pathlib import Path
from typing import Any

import pytest
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
