"""The page in a real Chromium, driven by keys and clicks: on a phone and a desk, light and dark."""

import base64
import gzip
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml
from golden.conftest import Golden
from golden.write import unpack
from headroom.claims.entries import read_papers
from headroom.core.errors import visible
from headroom.figures import palette
from headroom.report import __main__ as report
from headroom.report import compare
from headroom.study.configuration import paths_in
from lxml import etree, html
from markupsafe import escape
from missing_software import skip
from report.conftest import claimed
from report.test_explorer import small_study, write_map
from study import PATIENCE, run_stage, wait_until

pytestmark = pytest.mark.browser

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe"),
)

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "Home": (36, ""), "End": (35, "")}
KEYS |= {"ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
"""By name: the code of a key, and the text that it types."""

CATCH = "window.errors=[];addEventListener('error',(event)=>window.errors.push(event.message))"


class Page:
    """An open page.

    Args:
        write: The end of the pipe that takes commands.
        read: The end of the pipe that gives answers and events.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._calls = write, read, b"", 0
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=CATCH)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            answer = self._next(until)
            if answer.get("id") == self._calls:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
        raise TimeoutError(method)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._read, 1 << 16)
            assert part, "Chromium ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, anchor: str = "") -> None:
        """Load a file, also if it is the page that is open, and wait until its scripts have run."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.as_uri() + (f"#{anchor}" if anchor else ""))
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def size(self, width: int, height: int = 800, *, dark: bool = False) -> None:
        """Set the size of the view in CSS pixels, and the theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def scripts(self, on: bool) -> None:
        """Let pages run scripts, or not; `evaluate` works all the same."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript is in the page, as data."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        wait_until(lambda: bool(self.evaluate(condition)), condition)

    def text(self, selector: str) -> str:
        """Return the text of the first element that a selector finds, with single spaces."""
        found = self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")
        return " ".join(found.split())

    def focus(self, selector: str) -> None:
        """Focus the first element that a selector finds."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other."""
        for key in keys:
            code, text = KEYS[key]
            about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that a selector finds."""
        quoted = json.dumps(selector)
        find = f"document.querySelector({quoted})"
        self.evaluate(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.evaluate(f"{find}.getBoundingClientRect().toJSON()")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **place)


@contextmanager
def chromium(directory: Path) -> Iterator[Page]:
    """Open a browser whose profile is in a directory; it ends with the block."""
    from_us, to_us = os.pipe(), os.pipe()
    pipes = f'exec "$@" 3<&{from_us[0]} 4>&{to_us[1]}'
    command = ["bash", "-c", pipes, "bash", str(BROWSER), *FLAGS, f"--user-data-dir={directory / 'profile'}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, pass_fds=(from_us[0], to_us[1]), start_new_session=True, **quiet)
    os.close(from_us[0])
    os.close(to_us[1])
    try:
        yield Page(from_us[1], to_us[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(from_us[1])
        os.close(to_us[0])


STICKING_OUT = """
(() => {
  const root = document.documentElement;
  const stick = (one) => one.getBoundingClientRect().width && one.getBoundingClientRect().right > root.clientWidth + 1;
  const open = [...document.querySelectorAll("main *")].filter((one) =>
    !one.closest(".scroll, pre, details:not([open]), svg"));
  return open.filter(stick).map((one) => one.tagName + "." + one.className);
})()
"""
WIDTH = "document.documentElement.scrollWidth"
TIP = "[...document.querySelectorAll('.tip')].some((one) => getComputedStyle(one).display !== 'none')"
LIT = "[...document.querySelectorAll('.cell.lit')].map((one) => one.closest('[data-task]').dataset.task)"
SHOWN_MAP = (
    "[...document.querySelector('.pager').querySelectorAll('.page')]"
    ".map((one) => getComputedStyle(one).display !== 'none').indexOf(true)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if BROWSER is None:
        skip("chromium")
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small study, worked out by hand."""
    directory = tmp_path_factory.mktemp("small")
    tables = list(map(str, small_study(directory).files))
    maps = str(write_map(directory / "maps"))
    run_stage(
        report, ["--study", "small", "--tables", *tables, "--maps", maps, "--output", str(directory / "page.html")]
    )
    return directory / "page.html"


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1280, False)])
def test_a_reader_looks_around(browser: Page, tiny: Golden, width: int, dark: bool) -> None:
    browser.size(width, dark=dark)
    browser.open(tiny.path)
    assert browser.evaluate(f"[document.documentElement.clientWidth, {WIDTH}]") == [width, width]
    assert browser.evaluate(STICKING_OUT) == []
    hover = "dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))"
    browser.evaluate(f"""document.querySelector('.panels .cell[data-head="E1:1"]').{hover}""")
    lit = browser.evaluate(LIT)
    assert len(lit) > 5
    assert len(set(lit)) == 1
    turned = [browser.evaluate(SHOWN_MAP)]
    for press in (".page .turn label", ".pager > label:nth-of-type(3)"):
        browser.evaluate(f"document.querySelector('{press}').click()")
        turned.append(browser.evaluate(SHOWN_MAP))
    assert turned == [0, 1, 2]
    browser.focus(".tile")
    browser.press("Tab")
    seen = [browser.evaluate(TIP)]
    for key in ("Escape", "Tab"):
        browser.press(key)
        seen.append(browser.evaluate(TIP))
    assert seen == [True, False, True]
    assert browser.evaluate("errors") == []


def test_a_reader_compares_studies(browser: Page, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    run_stage(compare, [*(str(unpack(kind, tmp_path)) for kind in ("translator", "classifier")), "--output", str(page)])
    for width in (1280, 390):
        browser.size(width)
        browser.open(page, "claim-V12")
        assert browser.evaluate(WIDTH) == width
        assert browser.evaluate(STICKING_OUT) == []
    heading = ".board:not(.grounds) thead th"
    top, head, edge = (
        browser.evaluate(f"document.querySelector('{one}').getBoundingClientRect().{side}")
        for one, side in ((":target", "top"), (heading, "bottom"), (heading, "top"))
    )
    assert -1 < edge < head <= top < 800  # what is linked stands below its heading
    browser.focus(":target button")
    browser.press("Enter")
    assert browser.evaluate("document.querySelector(':popover-open').id") == "V12-1-1"
    browser.press("Escape")
    assert browser.evaluate("document.querySelector(':popover-open')") is None


SAID, RANGE, HASH = ".explored-said", ".explored-count input", "decodeURIComponent(location.hash)"
GONE = "[...document.querySelectorAll('.explored:not([hidden]) .cell.gone')].map((cell) => cell.dataset.head)"
MARK = "document.querySelector('.explored-mark path').getAttribute('d')"


def test_a_reader_removes_heads(browser: Page, small: Path) -> None:
    browser.size(1280)
    browser.open(small)
    assert browser.text(SAID).startswith("1 of 6 heads removed: 78.0 BLEU, 98 % of its score; with all heads 80.0, ")
    before = browser.evaluate(MARK)
    browser.focus(RANGE)
    browser.press("ArrowRight")
    assert browser.text(SAID).startswith("3 of 6 heads removed: 40.0 BLEU, 50 % of its score; ")
    assert browser.evaluate(GONE) == ["E1:2", "A1:1", "D1:2"]
    assert browser.evaluate("document.querySelector('.cell.gone title').textContent") == "E1:2: 2.00; removed"
    assert browser.evaluate(f"document.querySelector('{RANGE}').getAttribute('aria-valuetext')") == "3 of 6"
    assert browser.evaluate(MARK) != before
    assert browser.evaluate(HASH) == "#explore=translation,gradient-example:raw:fixed,3"
    browser.press("Home")
    assert browser.text(SAID) == "0 of 6 heads removed: 80.0 BLEU, 100 % of its score"
    browser.open(small, "explore=translation,gradient-example:raw:fixed,3")
    browser.focus(".explored-order select")
    browser.press("End")  # another order keeps the number of heads
    assert browser.text(SAID).startswith("3 of 6 heads removed: 4.00 BLEU, 5 % of its score; ")
    assert browser.evaluate(GONE) == ["E1:1", "A1:2", "D1:1"]
    browser.press("ArrowUp")  # of the random order 2 is nearest to 3: only measured steps are shown
    assert browser.text(SAID).startswith("2 of 6 heads removed: 50.0 BLEU")
    browser.open(small, "explore=sst2,gradient-example:raw:fixed,1")
    assert browser.text(SAID).startswith("1 of 2 heads removed: 80.0 % accuracy, 75 % of its score above chance; ")
    browser.evaluate("location.hash = 'explore=translation,reverse::fixed,1'")
    browser.wait_for(f"document.querySelector('{SAID}').textContent.startsWith('1 of 6 heads removed: 20.0 BLEU')")
    for wrong in ("explore=none,none,x", "explore=", "explore=%E0%A4%A,1", "explore=translation"):
        browser.open(small, wrong)
        assert " of 6 heads removed" in browser.text(SAID)
        assert browser.evaluate("errors") == []


def test_a_reader_without_scripts_sees_four_steps(browser: Page, small: Path) -> None:
    browser.size(360)
    browser.scripts(on=False)
    try:
        browser.open(small)
        heights = "Array.from(document.querySelectorAll('{}'), (one) => one.getBoundingClientRect().height)"
        assert browser.evaluate("document.querySelector('.explorer').classList.contains('live')") is False
        assert all(height > 10 for height in browser.evaluate(heights.format(".explorer > .explored li svg")))
        assert set(browser.evaluate(heights.format(".explored-controls, .cross"))) <= {0}
        assert "3 of 6: 50 %" in browser.text(".explored-steps")
        assert browser.evaluate(WIDTH) == 360
    finally:
        browser.scripts(on=True)


PANEL = "#head-panel"
OPEN = f"document.querySelector('{PANEL}').open"
FIRST = '.explored[data-task="translation"] .cell[data-head="E1:1"]'
ACTIVE = "document.activeElement.dataset.head ?? document.activeElement.className"


def test_a_reader_opens_a_head(browser: Page, small: Path) -> None:
    browser.size(1280)
    browser.open(small)
    assert browser.evaluate(OPEN) is False
    browser.click(FIRST)
    assert browser.evaluate(OPEN) is True
    text = browser.text(PANEL)
    assert "Head 1 of layer 1, encoder self-attention. Translation, baseline, seed 1." in text
    assert "BLEU on test−4.00 [−5.00, −3.00]0.04" in text
    assert "It holds none of the roles that were tested." in text
    assert browser.evaluate("location.hash") == "#head=E1:1"
    assert browser.evaluate(ACTIVE) == "close"
    panel, cell = (f"document.querySelector('{one}').getBoundingClientRect()" for one in (PANEL, FIRST))
    assert browser.evaluate(f"{cell}.right < {panel}.left || {panel}.right < {cell}.left")
    browser.press("Escape")
    assert browser.evaluate(f"[{OPEN}, {ACTIVE}, location.hash]") == [False, "E1:1", ""]
    browser.press("ArrowRight", "Enter")  # the keyboard alone
    assert browser.text(f"{PANEL} h2") == "Head E1:2"
    browser.press("Enter")  # on the button
    assert browser.evaluate(f"[{OPEN}, {ACTIVE}]") == [False, "E1:2"]
    browser.size(360)
    browser.open(small, "head=A1:1")
    assert browser.text(f"{PANEL} h2") == "Head A1:1"
    assert browser.evaluate(f"[{WIDTH}, document.querySelector('{PANEL}').scrollWidth <= 360]") == [360, True]
    browser.evaluate("location.hash = 'head=sst2/E1:1'")
    browser.wait_for(f"document.querySelector('{PANEL}').textContent.includes('SST-2')")
    for unknown in ("head=E9:9", "head=none/E1:1", "head=toString", "head=/", "head=__proto__/E1:1"):
        browser.open(small, unknown)
        assert browser.evaluate(f"[{OPEN}, errors.length]") == [False, 0]


TAKE = """
window.copies = []; window.files = {}; const blobs = {};
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copies.push(text); } } });
URL.createObjectURL = (blob) => { const name = `blob:${Object.keys(blobs).length}`; blobs[name] = blob; return name; };
URL.revokeObjectURL = () => {};
HTMLAnchorElement.prototype.click = function () { files[this.download] = blobs[this.getAttribute("href")]; };
window.named = (name) => [...document.querySelectorAll("button")].find((one) => one.ariaLabel === name).click();
"""
"""Keep what is copied and downloaded; press a button by its name."""

PIXELS = """
(async () => {
  const picture = await createImageBitmap(files["%s"]);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const pixels = context.getImageData(0, 0, picture.width, picture.height).data, colours = new Set();
  for (let at = 0; at < pixels.length; at += 4) colours.add(pixels.slice(at, at + 4).join());
  return [picture.width, picture.height, pixels.slice(0, 4).join(), [...colours]];
})()
"""


def take(browser: Page, *buttons: str) -> None:
    """Press buttons by their names, and wait for as many copies and files more."""
    browser.evaluate("window.before = copies.length + Object.keys(files).length")
    for button in buttons:
        browser.evaluate(f"named({json.dumps(button)})")
    browser.wait_for(f"copies.length + Object.keys(files).length === before + {len(buttons)}")


def test_a_reader_takes_tables_and_figures_along(browser: Page, tiny: Golden) -> None:
    browser.size(1000, 900, dark=True)
    browser.open(tiny.path)
    browser.evaluate(TAKE)
    column = "[...document.querySelector('[data-csv=\"scores.csv\"]').tBodies[0].rows].filter((row) => !row.hidden)"
    column += ".map((row) => row.cells[{}].textContent)"
    place, order = 3, []
    for _ in range(3):
        heading = f"document.querySelector('[data-csv=\"scores.csv\"] thead').rows[0].cells[{place}]"
        browser.evaluate(f"{heading}.querySelector('button').click()")
        order.append(browser.evaluate(f"[{heading}.getAttribute('aria-sort'), {column.format(place)}]"))
    numbers = [list(map(number_in, cells)) for _, cells in order]
    assert [name for name, _ in order] == ["ascending", "descending", None]
    assert numbers[:2] == [sorted(numbers[2]), sorted(numbers[2], reverse=True)]
    assert numbers[2] not in numbers[:2]
    take(browser, "Copy the rows shown of scores as LaTeX", "Copy: BibTeX", "Download the CSV of scores")
    latex, bibtex = browser.evaluate("copies")
    shown = browser.evaluate(column.format(0))
    assert latex.count(r" \\") == 1 + len(shown)
    assert not re.search(r"(?<!\\)[_%#<>]", latex.split(r"\toprule")[1])
    assert bibtex.startswith("@")
    files = json.loads(gzip.decompress(base64.b64decode(tiny.document.xpath("string(//*[@id='attachments'])"))))
    assert browser.evaluate("files['scores.csv'].text()") == files["scores.csv"]
    take(browser, "Download figure scores as SVG", "Download figure scores as PNG", "Copy figure scores as SVG")
    source = browser.evaluate("files['scores.svg'].text()")
    assert browser.evaluate("copies.at(-1)") == source
    assert not re.search(r"var\(|currentColor|class=|tabindex|data-", source)
    root = etree.fromstring(source.encode())
    assert rgb(palette.INK.light) in source
    assert rgb(palette.INK.dark) not in source
    width, height, ground, colours = browser.evaluate(PIXELS % "scores.png")
    assert [width, height] == [2 * int(root.get("width")), 2 * int(root.get("height"))]
    assert ground == channels(palette.PAPER.light)
    assert channels(palette.INK.light) in colours
    names = browser.evaluate("[...document.querySelectorAll('.quote button')].map((one) => one.ariaLabel)")
    assert len(names) == len(set(names)) > 50
    assert browser.evaluate("errors") == []


def number_in(cell: str) -> float:
    """Return a number as the page writes it, e.g. 1.5 × 10⁻⁷."""
    plain = cell.translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789", ",\u202f"))
    return float(plain.replace("×10", "e"))


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


def channels(colour: str) -> str:
    return ",".join([*(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5)), "255"])


TASK = '"><img src=x onerror=document["title"]="owned">'
ARM = '<script>window["hostile"]=document["title"]="owned"</script>'
"""Names without dots, which would end them."""

LABEL = "</text></svg><script>document.title='owned'</script><svg onload=\"document.title='owned'\">\x1b\u202e"

WORDS = (
    *("<script>document.title='owned'</script>", "\"><img src=x onerror=document.title='owned'>", "<b>bold</b>"),
    *("'><svg onload=document.title='owned'>", "</script><script>document.title='owned'</script>", "</style>"),
    *("</title>", "<!--", "-->", "]]>", "<![CDATA[", "<?xml?>", "&lt;script&gt;", "&#60;", "&amp;"),
    *("javascript:document.title='owned'", "{{ 7 * 7 }}", "{% raw %}", "`code", "$x^2$", r"\frac", "%s", "\u2028"),
    *('id="a"', "url(#a)", "var(--none)", "var(--ink)", "#0b62a8", "currentColor", "x" * 5000),
    *("\u202egnp.exe", "\x00", "\x1b[2J", "\x85", "\r", "\ud800", "\ufffe", "\u2066a"),
)
"""Words of a sentence, as an attention map shows them."""

NAMES = {"entailment": TASK, "svgd": ARM}
"""What takes the place of a task and of an arm."""

LABELS = ("far", "chrf", "gradient-squared", "nsubj", "cpu", "tok:13a")
"""Words of tables after which comes hostile text: a set, a metric, a criterion, a relation, a device, a signature."""


def hostile_cell(text: str) -> str:
    """Return a cell of a table with hostile text wherever a user or a data set may name something."""
    for name, hostile in NAMES.items():
        text = re.sub(rf"(?<![\w-]){name}(?![\w-])", hostile, text)
    return re.sub(rf"(?<![\w-])({'|'.join(LABELS)})(?![\w-])", lambda match: match[0] + LABEL, text)


def write_hostile(directory: Path) -> Path:
    """Write the page of the tiny study with hostile text in all cells of words, maps, names and the configuration."""
    results = unpack("tiny", directory)
    tables, maps = paths_in(results), sorted(results.glob("attention_maps/*.json"))
    for path in tables:
        frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
        frame.map(hostile_cell).to_csv(path, index=False)
    for path in maps:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["run"] = hostile_cell(content["run"])
        for one in content["maps"]:
            one["queries"] = one["keys"] = WORDS
            one["weights"] = [[float(row == column) for column in range(len(WORDS))] for row in range(len(WORDS))]
            one["role"], one["target"] = one["role"] + LABEL, hostile_cell(one["target"])
        path.write_text(json.dumps(content), encoding="utf-8")
    benchmark = directory / "<img src=x onerror=document.title='owned'>" / "translation.tsv"
    benchmark.parent.mkdir()
    benchmark.write_text("s\th:m:s\tmax_rss\tcpu_time\n75.5\t0:01:15\t812.3\t140.1\n", encoding="utf-8")
    configuration = directory / "configuration.yaml"
    arms = {
        "tasks": {"translation": {"task": "translation", "arms": {"baseline": {}, ARM: {"method": "svgd"}}}},
        "labels": list(WORDS),
    }
    configuration.write_text(yaml.safe_dump(arms), encoding="utf-8")
    given = ["--tables", *map(str, tables), "--maps", *map(str, maps), "--benchmarks", str(benchmark)]
    given += [*claimed(directory, [*map(str, tables)], configuration), "--configuration", str(configuration)]
    run_stage(report, ["--study", LABEL, *given, "--output", str(directory / "page.html")])
    return directory / "page.html"


def elements_that_act(document: etree._Element) -> list[str]:
    """Return elements and attributes that can run or load something, except for our own script."""
    acting = ("script", "img", "iframe", "object", "embed", "base", "link", "form", "foreignObject", "image")
    inert = ("application/json", "text/plain")
    papers = {paper.url for paper in read_papers()}
    acts = (one for one in document.iter(etree.Element) if etree.QName(one).localname in acting)
    found = [one.tag for one in acts if one.get("type") not in inert]
    for one in document.iter(etree.Element):
        links = [value for name, value in one.items() if etree.QName(name).localname in ("href", "src", "action")]
        found += [name for name in one.keys() if etree.QName(name).localname.lower().startswith("on")]  # noqa: SIM118
        found += [link[:40] for link in links if not link.startswith("#") and link not in papers]
    return found


def test_a_reader_meets_hostile_text(browser: Page, tmp_path: Path) -> None:
    page = write_hostile(tmp_path)
    browser.size(800)
    browser.open(page)
    shown: Any = html.document_fromstring(browser.evaluate("document.documentElement.outerHTML"))
    assert elements_that_act(shown) == ["script"]
    assert shown.xpath("string(/html/head/title)") == f"{visible(LABEL)}: how much headroom is in multi-head attention?"
    assert len(shown.xpath("//html | //head | //body | //style | //main | //h1")) == 6
    maps = [one for one in shown.iter("svg") if "map" in one.get("class", "").split()]
    assert maps
    for drawing in maps:
        wrong = [word for word in map(visible, WORDS) if f"{word} → {word} (1.00)" not in drawing.get("aria-label")]
        assert not wrong, wrong
        short = [word if len(word) <= 14 else f"{word[:13]}…" for word in map(visible, WORDS)]
        assert ["".join(one.itertext()) for one in drawing.iter("text")] == [*short, *short]
    text = shown.text_content()
    missing = [one for one in (TASK, ARM, *(visible(label + LABEL) for label in LABELS)) if one not in text]
    assert not missing, missing
    assert "<img src=x onerror=document.title='owned'>" in shown.xpath("string(//section[@id='provenance'])")
    browser.evaluate(TAKE)
    take(browser, "Copy the rows shown of evaluation as LaTeX", "Copy the rows shown of evaluation as Markdown")
    latex, markdown = browser.evaluate("copies")
    assert r"\textless{}script\textgreater{}" in latex
    assert "<" not in latex.split(r"\toprule")[1]
    assert "<script" not in markdown
    for anchor in (f"head={TASK}/E1:1", f"explore={TASK},{ARM},1"):
        browser.open(page, anchor)
        assert browser.evaluate("[errors, window.hostile ?? null, document.images.length]") == [[], None, 0]


def test_a_browser_would_run_it_if_it_were_not_escaped(browser: Page, tmp_path: Path) -> None:
    """The texts are hostile indeed: each of them runs if a page has it unescaped."""
    texts = (f'<p title="{TASK}', ARM, f"<svg><text>{LABEL}", WORDS[0], f'<p title="{WORDS[1]}')
    frames = "".join(f'<iframe srcdoc="{escape(f"<title>ours</title>{text}")}"></iframe>' for text in texts)
    (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{frames}', encoding="utf-8")
    browser.open(tmp_path / "page.html")
    owned = "[...document.querySelectorAll('iframe')].map((one) => one.contentDocument.title === 'owned')"
    browser.wait_for(f"{owned}.length === 5 && {owned}.every(Boolean)")
