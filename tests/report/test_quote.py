"""What readers with JavaScript can take from the page, in a real browser: figures, tables, attachments, texts."""

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from headroom.figures import palette
from headroom.figures.embedding import pack_files
from headroom.figures.prose import TEMPLATES
from lxml import etree
from report.chromium import Page

HOSTILE = "<img src=x onerror=window.hostile=1>|a\\b_c%{d}$ & [1] `x` *"

FILES = {"runs.csv": "run,score\n" + "".join(f"r{row},{row}\n" for row in range(12)), "lines.csv": "x,y\n1,é\n"}

LEVELS = (
    *(["\u22120.5", "3.2", "+1.5", "0.2\u202f×\u202f10\u207b\u00b3", "10,000"]),
    *("\u2013" for _ in range(7)),
)
"""Numbers as the page writes them."""

STATE = """
window.headroom = { state: (() => {
  const values = JSON.parse(document.querySelector("#given").textContent), known = {};
  return { values, get: (key) => values[key] ?? "", on: (key, call) => { known[key] = call; },
    set: (key, value) => { if (value) values[key] = value; else delete values[key]; },
    come: (key, value) => { values[key] = value; known[key](value); } };
})() };
window.copies = []; window.files = {}; const blobs = {};
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copies.push(text); } } });
URL.createObjectURL = (blob) => { const name = `blob:${Object.keys(blobs).length}`; blobs[name] = blob; return name; };
URL.revokeObjectURL = () => {};
HTMLAnchorElement.prototype.click = function () { window.files[this.download] = blobs[this.getAttribute("href")]; };
"""

PROBE = """
(async () => {
  const one = (selector) => document.querySelector(selector);
  const named = (name) => Array.from(document.querySelectorAll("button")).find((button) =>
  button.getAttribute("aria-label") === name);
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const cells = (column) => Array.from(one("#wide tbody").rows).filter((row) => !row.hidden)
    .map((row) => row.cells[column].textContent);
  const until = async (is) => { for (let time = 0; time < 20000 && !is(); time += 20) await wait(20); };
  const seen = { restored: cells(0), open: one("#folded").open, count: one(".quote-count").textContent };
  seen.buttons = Array.from(document.querySelectorAll(".quote button, thead button"), (button) =>
    [button.getAttribute("aria-label") || button.textContent, button.tabIndex]);
  seen.small = Array.from(document.querySelectorAll(".quote button, .quote input")).filter((button) => {
    const box = button.getBoundingClientRect();
    return box.width < 24 || box.height < 24;
  }).length;
  seen.short = one("#short").closest("main > div").querySelectorAll("input").length;
  const height = () => one("main").getBoundingClientRect().height;
  const before = height();
  headroom.state.come("table-runs", "");
  const heads = document.querySelectorAll("#wide thead th");
  seen.sorts = [0, 1, 2].map(() => {
    heads[1].querySelector("button").click();
    return [heads[1].getAttribute("aria-sort"), headroom.state.values["table-runs"] ?? "", cells(1)];
  });
  heads[0].querySelector("button").click();
  heads[0].querySelector("button").click();
  const field = one("input[type=search]");
  field.value = "r1";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  seen.filtered = [cells(0), headroom.state.values["table-runs"], one(".quote-count").textContent];
  named("Copy the rows shown of Scores of <b>runs</b> as LaTeX").click();
  await wait(50);
  seen.message = one(".quote-message").textContent;
  named("Copy the rows shown of Odd cells as LaTeX").click();
  await wait(50);
  named("Copy the rows shown of Odd cells as Markdown").click();
  await wait(50);
  named("Copy: BibTeX").click();
  await wait(50);
  named("Download the CSV of Scores of <b>runs</b>").click();
  named("Download the CSV of figure two").click();
  named("Download figure two as SVG").click();
  named("Download figure two as PNG").click();
  named("Copy figure two as SVG").click();
  one("#first").checked = true;
  named("Download this attention map as SVG").click();
  await until(() => copies.length > 4 && Object.keys(files).length > 4);
  seen.taller = height() - before;
  seen.copies = copies;
  seen.style = one("#figure-two").getAttribute("style");
  seen.files = {};
  for (const [name, blob] of Object.entries(files)) if (!name.endsWith("png")) seen.files[name] = await blob.text();
  const picture = await createImageBitmap(files["two.png"]);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const pixels = context.getImageData(0, 0, picture.width, picture.height).data;
  const colours = new Set();
  for (let at = 0; at < pixels.length; at += 4) colours.add(pixels.slice(at, at + 4).join());
  seen.png = { size: [picture.width, picture.height], ground: pixels.slice(0, 4).join(), colours: [...colours] };
  named("Download the CSV of figure lost").click();
  await until(() => one(".quote-message").textContent.includes("not work"));
  seen.lost = one(".quote-message").textContent;
  seen.ground = getComputedStyle(document.body).backgroundColor;
  return { ...seen, errors, hostile: window.hostile ?? null };
})()
"""


def panel(number: int, width: int) -> str:
    return (
        f'<div class="panel" style="width:{width}px"><svg viewBox="0 0 {width} 80" class="atlas">'
        f'<defs><path id="mark-{number}" d="M0 0h9v9z"/></defs>'
        f'<g class="cell" data-head="E1:{number}" tabindex="0"><title>E1:{number}</title>'
        f'<rect width="30" height="30" style="fill:var(--kind-e)"/></g>'
        f'<use href="#mark-{number}" x="50" y="20" fill="var(--kind-a)"/>'
        f'<g class="letters"><text x="2" y="70">panel {number} &lt;i&gt;</text></g></svg></div>'
    )


def data_table(identifier: str, caption: str, rows: list[tuple[str, ...]], csv: str = "") -> str:
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    heads = '<th scope="col">name</th><th scope="col" class="n">value</th>'
    link = f' data-csv="{csv}"' if csv else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}">'
        f'<table class="data" id="{identifier}"{link}><caption><span>{html.escape(caption)}</span></caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def map_of(example: int, words: str) -> str:
    """Return a page of attention maps."""
    drawing = (
        f'<svg class="map" viewBox="0 0 90 60" font-size="11.5"><text x="20" y="20">\u2068{words}\u2069</text></svg>'
    )
    return f'<div class="page"><p class="label">E1:1, example {example}</p><div class="scroll">{drawing}</div></div>'


def page(state: dict[str, str]) -> str:
    """Return a page with what quote.js acts on, and a probe."""
    light, dark = palette.style_variables()
    style = (TEMPLATES / "page.css").read_text("utf-8") + (TEMPLATES / "quote.css").read_text("utf-8")
    script = (TEMPLATES / "quote.js").read_text("utf-8")
    key = '<ul class="key"><li><svg class="sample" viewBox="0 0 12 12"><circle r="5"/></svg> full &amp; whole</li></ul>'
    rows = "".join(
        f'<div class="row"><p class="label">row {row}</p>'
        f'<div class="side">{panel(2 * row, 200)}{panel(2 * row + 1, 150)}</div></div>'
        for row in (1, 2)
    )
    panels = f'<div class="panels" role="group" aria-label="Two &lt;rows&gt;">{rows}</div>'
    figure = f"{key}{panels}<figcaption>Read so.</figcaption>"
    maps = "".join(
        f'<input type="radio" name="maps" id="{name}" checked><label for="{name}">{example}</label>'
        f"{map_of(example, words)}"
        for example, (name, words) in enumerate({"first": "\u05d7\u05dc\u05d5\u05df", "second": "one"}.items(), 1)
    )
    many = [(f"r{row}", level) for row, level in enumerate(LEVELS)]
    wide = data_table("wide", "Scores of <b>runs</b>", many, "runs.csv")
    short = data_table("short", "Odd cells", [("[2] first", HOSTILE), ("a–b “c”", "λ ≤ 2\u202f%")])
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>quote</title>
<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{style}</style></head><body><main>
<h1>Quote</h1>
<figure id="figure-two" data-csv="lines.csv">{figure}</figure>
<figure id="figure-lost" data-csv="lost.csv"><div class="panels">{panel(8, 50)}</div></figure>
<div class="pager">{maps}</div>
<figure id="figure-words"><figcaption>no panels</figcaption></figure>
<details id="folded"><summary>Table</summary>{wide}</details><div>{short}</div>
<pre data-copy="BibTeX" tabindex="0">@misc{{&lt;b&gt;}}</pre></main>
<script type="application/json" id="given">{json.dumps(state)}</script>
<script type="text/plain" id="attachments">{pack_files(FILES)}</script>
<script>{STATE}</script><script>{script}</script></body></html>"""


def seen_in(browser: Page, path: Path, state: dict[str, str], *, dark: bool) -> dict[str, Any]:
    """Return what the probe sees in a page, written to a path, with this state in its address."""
    path.write_text(page(state), encoding="utf-8")
    browser.size(1000, 900, dark=dark)
    browser.open(path)
    return browser.evaluate(PROBE)


@pytest.fixture(scope="module")
def seen(browser: Page, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return seen_in(browser, tmp_path_factory.mktemp("quote") / "page.html", {"table-runs": "2d~r1"}, dark=True)


def test_attachments_hold_every_file_and_are_the_same_every_time() -> None:
    text = pack_files(FILES)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert json.loads(gzip.decompress(base64.b64decode(text))) == FILES
    assert pack_files(dict(reversed(FILES.items()))) == text
    assert base64.b64decode(text)[4:8] == bytes(4)  # the time


def test_nothing_fails_and_no_cell_runs(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert seen["hostile"] is None


def test_sort_and_filter_are_restored_from_the_address(seen: dict[str, Any]) -> None:
    assert seen["restored"] == ["r1", "r10", "r11"]
    assert seen["open"] is True
    assert seen["count"] == "3 of 12"


def test_headings_sort_numbers_as_written_and_turn_back(seen: dict[str, Any]) -> None:
    rising = ["\u22120.5", "0.2\u202f×\u202f10\u207b\u00b3", "+1.5", "3.2", "10,000"]
    missing = ["\u2013"] * 7
    assert seen["sorts"] == [
        ["ascending", "2a", rising + missing],
        ["descending", "2d", rising[::-1] + missing],
        [None, "", list(LEVELS)],
    ]


def test_tables_are_copied_as_latex_with_every_sign_escaped(seen: dict[str, Any]) -> None:
    runs, odd = seen["copies"][:2]
    assert runs.splitlines() == [
        "% Scores of <b>runs</b> (needs the package booktabs)", r"\begin{tabular}{lr}", r"  \toprule",
        r"  name & value \\", r"  \midrule", r"  r11 & -- \\", r"  r10 & -- \\", r"  r1 & 3.2 \\", r"  \bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip
    hostile = (
        r"\textless{}img src=x onerror=window.hostile=1\textgreater{}\textbar{}a\textbackslash{}b\_c\%\{d\}\$ \& [1]"
        r" \textasciigrave{}x\textasciigrave{} *"
    )
    assert odd.splitlines()[5] == rf"  {{}}[2] first & {hostile} \\"
    assert odd.splitlines()[6] == r"  a--b ``c'' & $\lambda$ $\le$ 2\,\% \\"


def test_every_control_has_a_name_of_its_own_and_is_large_enough(seen: dict[str, Any]) -> None:
    names = [name for name, _ in seen["buttons"] if name not in ("name", "value")]
    assert len(names) == len(set(names)) == 4 + 4 + 3 + 3 + 2 + 1
    assert all(names)
    assert {place for _, place in seen["buttons"]} == {0}
    assert seen["small"] == 0


def test_a_figure_is_one_picture_in_light_colours_with_text(seen: dict[str, Any]) -> None:
    source = seen["files"]["two.svg"]
    assert seen["copies"][4] == source
    assert not re.search(r"var\(|currentColor|class=|tabindex|data-", source)
    root = etree.fromstring(source.encode())
    texts = ["".join(one.itertext()) for one in root.iter("{*}text")]
    assert texts == [
        *("full & whole", "row 1", "panel 2 <i>", "panel 3 <i>", "row 2", "panel 4 <i>", "panel 5 <i>"),
    ]
    assert root[0].text == "Two <rows>"
    assert rgb(palette.KIND_COLOURS["E"].light) in source
    assert rgb(palette.KIND_COLOURS["E"].dark) not in source
    assert rgb(palette.INK.light) in source
    assert not seen["style"]


def test_a_picture_has_its_own_ground_and_twice_the_size(seen: dict[str, Any]) -> None:
    root = etree.fromstring(seen["files"]["two.svg"].encode())
    assert seen["png"]["size"] == [2 * int(root.get("width")), 2 * int(root.get("height"))]
    assert seen["png"]["ground"] == channels(palette.PAPER.light)
    for colour in (palette.KIND_COLOURS["E"], palette.KIND_COLOURS["A"], palette.INK):
        assert channels(colour.light) in seen["png"]["colours"]
    assert seen["ground"] == rgb(palette.PAPER.dark)


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


def channels(colour: str) -> str:
    return ",".join([*(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5)), "255"])
