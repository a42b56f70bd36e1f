"""The page in a real browser: no overflow on a phone, no error, hovering links atlases, tables sort."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import PATIENCE
from report.conftest import Written

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    "--virtual-time-budget=4000",
]

PROBE = """
const frame = document.querySelector("iframe");
const errors = [];
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const root = page.documentElement;
  const cell = page.querySelector('.panels .cell[data-head="E1:1"]');
  cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const lit = page.querySelectorAll(".cell.lit");
  const tasks = new Set(Array.from(lit, (one) => one.closest("[data-task]").dataset.task));
  const readout = cell.closest("figure").querySelector(".readout").textContent;
  const sortable = page.querySelector("table.data th button");
  sortable.click();
  const pages = Array.from(page.querySelector(".pager").querySelectorAll(".page"));
  const shown = () => pages.map((one) => view.getComputedStyle(one).display !== "none").indexOf(true);
  const turned = [shown()];
  pages[0].querySelector(".turn label").click();
  turned.push(shown());
  page.querySelectorAll(".pager > label")[3].click();
  turned.push(shown());
  const wide = [];
  for (const element of page.querySelectorAll("main *")) {
    if (element.closest(".scroll, pre, details:not([open]), svg")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && box.right > root.clientWidth + 1) wide.push(element.tagName + "." + element.className);
  }
  document.querySelector("#result").textContent = JSON.stringify({
    width: root.clientWidth, scroll: root.scrollWidth, wide, errors: view.errors, hostile: view.hostile ?? null,
    turned, lit: lit.length, tasks: [...tasks], readout, sorted: sortable.parentElement.getAttribute("aria-sort"),
    ground: view.getComputedStyle(page.body).backgroundColor,
    ink: view.getComputedStyle(page.querySelector("figure .panel svg")).fill,
  });
});
frame.srcdoc = JSON.parse(document.querySelector("#page").textContent);
"""


def look(report: Written, directory: Path, *, width: int, dark: bool) -> dict[str, Any]:
    """Open the page in a frame of this width and return what a probe sees."""
    catcher = "<head><script>window.errors=[];window.onerror=(message)=>{window.errors.push(message)}</script>"
    page = json.dumps(report.page.replace("<head>", catcher, 1)).replace("<", "\\u003c")
    wrapper = directory / "wrapper.html"
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><pre id="result"></pre>'
        f'<iframe style="width:{width}px;height:800px;border:0"></iframe>'
        f'<script type="application/json" id="page">{page}</script><script>{PROBE}</script>',
        encoding="utf-8",
    )
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [str(BROWSER), *FLAGS, scheme, f"--user-data-dir={directory / 'profile'}", "--dump-dom"]
    shown = subprocess.run(
        [*command, wrapper.as_uri()], capture_output=True, text=True, timeout=PATIENCE, check=True, encoding="utf-8"
    )
    result = re.search(r'<pre id="result">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert result is not None
    text = result[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


@pytest.fixture(scope="module")
def phone(report: Written, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return look(report, tmp_path_factory.mktemp("phone"), width=360, dark=True)


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


def test_page_and_figures_follow_the_theme(phone: dict[str, Any], report: Written, tmp_path: Path) -> None:
    desk = look(report, tmp_path, width=1280, dark=False)
    assert desk["scroll"] <= 1280
    brightness = {name: sum(map(int, re.findall(r"\d+", phone[name])[:3])) for name in ("ground", "ink")}
    assert brightness["ground"] < 150 < brightness["ink"]
    brightness = {name: sum(map(int, re.findall(r"\d+", desk[name])[:3])) for name in ("ground", "ink")}
    assert brightness["ink"] < 150 < brightness["ground"]
