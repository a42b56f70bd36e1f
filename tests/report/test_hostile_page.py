"""Text that would run, or steer what shows it, if the report took it for anything but text: in a real browser."""

import json
import re
from pathlib import Path

import pandas
import pytest
import yaml
from headroom.claims.entries import read_papers
from headroom.core.errors import visible
from headroom.report.__main__ import main
from lxml import etree, html
from markupsafe import escape
from report.chromium import Page
from report.conftest import Written, claimed
from report.example_tables import write_example_maps, write_example_study
from report.test_browser import look

pytestmark = pytest.mark.long

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

NAMES = {"sst2": TASK, "svgd": ARM}
"""What takes the place of a task and of an arm."""

LABELS = ("far", "chrf", "gradient-squared", "nsubj", "cpu", "tok:13a")
"""Words of tables after which comes hostile text: a set, a metric, a criterion, a relation, a device, a signature."""


OF_ARMS = ("training", "evaluation", "scores", "diversity", "particles", "update_cost", "roles")


def hostile_cell(text: str) -> str:
    """Return a cell of a table with hostile text wherever a user or a data set may name something."""
    for name, hostile in NAMES.items():
        text = re.sub(rf"(?<![\w-]){name}(?![\w-])", hostile, text)
    return re.sub(rf"(?<![\w-])({'|'.join(LABELS)})(?![\w-])", lambda match: match[0] + LABEL, text)


def hostile_tables(directory: Path) -> list[Path]:
    """Write the made-up study, translation with comparisons of arms only, with hostile text in all cells of words."""
    paths = write_example_study(directory, only=OF_ARMS, tasks=("translation",))
    paths += write_example_study(directory, tasks=("sst2",))
    for path in paths:
        frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
        frame.map(hostile_cell).to_csv(path, index=False)
    return paths


def hostile_maps(directory: Path) -> list[Path]:
    """Write attention maps of both tasks with hostile words, roles and targets."""
    paths = write_example_maps(directory, ("translation", "sst2"))
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["run"] = hostile_cell(content["run"])
        for one in content["maps"]:
            one["queries"] = one["keys"] = WORDS
            one["weights"] = [[float(row == column) for column in range(len(WORDS))] for row in range(len(WORDS))]
            one["role"], one["target"] = one["role"] + LABEL, hostile_cell(one["target"])
        path.write_text(json.dumps(content), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The report of a study in which everything that can be hostile is."""
    directory = tmp_path_factory.mktemp("hostile")
    benchmark = directory / "<img src=x onerror=document.title='owned'>" / "translation.tsv"
    benchmark.parent.mkdir()
    benchmark.write_text("s\th:m:s\tmax_rss\tcpu_time\n75.5\t0:01:15\t812.3\t140.1\n", encoding="utf-8")
    configuration = directory / "configuration.yaml"
    arms = {"translation": {"arms": {"baseline": {}, ARM: {"method": "svgd"}}}, "labels": list(WORDS)}
    configuration.write_text(yaml.safe_dump(arms), encoding="utf-8")
    tables, maps = hostile_tables(directory / "tables"), hostile_maps(directory)
    output = directory / "report.html"
    main([
        *("--study", LABEL, "--tables", *map(str, tables), "--maps", *map(str, maps)),
        *claimed(directory, [*map(str, tables)], configuration),
        *("--benchmarks", str(benchmark), "--configuration", str(configuration)),
        *("--output", str(output)),
    ])  # fmt: skip
    return Written(output)


@pytest.fixture(scope="module")
def shown(hostile: Written, browser: Page) -> html.HtmlElement:
    """The page as a browser has it after running all that it would run."""
    browser.open(hostile.path)
    return html.document_fromstring(browser.evaluate("document.documentElement.outerHTML"))


PAPERS = {paper.url for paper in read_papers()}
"""What a reader may follow."""


def elements_that_act(document: etree._Element) -> list[str]:
    """Return elements and attributes that can run or load something, except for our own script."""
    acting = ("script", "img", "iframe", "object", "embed", "base", "link", "form", "foreignObject", "image")
    inert = ("application/json", "text/plain")
    acts = (one for one in document.iter(etree.Element) if etree.QName(one).localname in acting)
    found = [one.tag for one in acts if one.get("type") not in inert]
    for one in document.iter(etree.Element):
        links = [value for name, value in one.items() if etree.QName(name).localname in ("href", "src", "action")]
        found += [name for name in one.keys() if etree.QName(name).localname.lower().startswith("on")]  # noqa: SIM118
        found += [link[:40] for link in links if not link.startswith("#") and link not in PAPERS]
    return found


def test_nothing_is_in_the_page_that_we_have_not_put_there(shown: html.HtmlElement) -> None:
    assert elements_that_act(shown) == ["script"]
    assert shown.xpath("string(/html/head/title)") == f"{visible(LABEL)}: how much headroom is in multi-head attention?"
    assert len(shown.xpath("//html | //head | //body | //style | //main | //h1")) == 6


def test_words_of_attention_maps_are_shown_as_they_are(shown: html.HtmlElement) -> None:
    maps = [one for one in shown.iter("svg") if "map" in one.get("class", "").split()]
    assert len(maps) == 8
    for drawing in maps:
        for word in map(visible, WORDS):
            assert f"{word} → {word} (1.00)" in drawing.get("aria-label")
        texts = ["".join(one.itertext()) for one in drawing.iter("text")]
        short = [word if len(word) <= 14 else f"{word[:13]}…" for word in map(visible, WORDS)]
        assert texts == [*short, *short]


def test_names_are_shown_as_they_are(shown: html.HtmlElement) -> None:
    text = shown.text_content()
    for name in (TASK, ARM, *(visible(label + LABEL) for label in LABELS)):
        assert name in text, name
    assert "<img src=x onerror=document.title='owned'>" in shown.xpath("string(//section[@id='provenance'])")


def test_hovering_turning_and_sorting_run_nothing_either(hostile: Written, browser: Page) -> None:
    seen = look(browser, hostile.path, width=800, dark=False)
    assert (seen["errors"], seen["hostile"]) == ([], None)
    assert seen["lit"] > 5
    assert seen["sorted"] == "ascending"


def test_a_browser_would_run_it_if_it_were_not_escaped(browser: Page, tmp_path: Path) -> None:
    """The texts are hostile indeed: each of them runs if a page has it unescaped."""
    texts = (f'<p title="{TASK}', ARM, f"<svg><text>{LABEL}", WORDS[0], f'<p title="{WORDS[1]}')
    frames = "".join(f'<iframe srcdoc="{escape(f"<title>ours</title>{text}")}"></iframe>' for text in texts)
    (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{frames}', encoding="utf-8")
    browser.open(tmp_path / "page.html")
    owned = "[...document.querySelectorAll('iframe')].map((one) => one.contentDocument.title === 'owned')"
    browser.wait_for(f"{owned}.length === 5 && {owned}.every(Boolean)")
