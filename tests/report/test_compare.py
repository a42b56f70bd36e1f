"""The page of several studies: what it shows is in its tables, for any names of studies."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.__main__ import STAGES, module_of
from headroom.claims.__main__ import main as decide_claims
from headroom.claims.words import Measured
from headroom.core.errors import HeadroomError, visible
from headroom.core.statistics import Estimate
from headroom.core.tables import COMPARISON, COMPARISON_CURVES, COMPARISON_DIFFERENCES
from headroom.report.compare import main
from headroom.report.comparison import render
from headroom.report.names import task_name
from lxml import html
from report.chromium import Page as Browser
from report.conftest import HOSTILE
from report.example_tables import write_example_study
from report.test_browser import WIDE

STUDIES = {"first": ("translation", "sst2"), "second": ("translation",), HOSTILE: ("cola",)}
"""By name of a study, its tasks."""

ONLY = ("evaluation", "pruning", "ablation", "agreement", "attention_stats", "roles", "parameters", "arms")


@dataclass(frozen=True)
class Page:
    """A page on disk, its text as a tree, and its tables."""

    path: Path
    tree: Any
    verdicts: pandas.DataFrame
    differences: pandas.DataFrame
    curves: pandas.DataFrame


def write_finished(place: Path, name: str, tasks: tuple[str, ...]) -> Path:
    """Write a made-up study with its claims decided."""
    paths = write_example_study(place, name, only=ONLY, tasks=tasks)
    files = ["--output", str(place / "claims.csv"), "--numbers", str(place / "numbers.csv")]
    decide_claims(["--study", name, "--tables", *map(str, paths), *files])
    return place


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    root = tmp_path_factory.mktemp("compared")
    places = [write_finished(root / str(number), *study) for number, study in enumerate(STUDIES.items())]
    path = root / "reports" / "compare.html"
    main([*map(str, places), "--output", str(path)])
    tables = COMPARISON, COMPARISON_DIFFERENCES, COMPARISON_CURVES
    read = [table.read(root / "reports" / "compare" / table.path) for table in tables]
    return Page(path, html.fromstring(path.read_text(encoding="utf-8")), *read)


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


def number_of(row: Any) -> str:
    """Return the number of a row as it stands on the page."""
    found = Estimate(row.value, row.low, row.high)
    return " ".join(visible(str(Measured(row.words, found, row.unit, row.signed == 1))).split())


def test_it_is_a_stage() -> None:
    assert "compare" in STAGES
    assert module_of("compare") == "headroom.report.compare"


def test_the_board_has_every_verdict_with_its_number(page: Page) -> None:
    own = page.verdicts[page.verdicts["across"] == ""]
    assert len(own) > 60
    seen = 0
    for claim, rows in own.groupby("claim"):
        (line,) = page.tree.xpath(f"//tr[@id='claim-{claim}']")
        for study, cell in zip(STUDIES, line.xpath("td"), strict=True):
            found = [words(one) for one in cell.xpath("p")]
            wanted = []
            for row in rows[rows["study"] == study].itertuples():
                task = f" {task_name(row.task)}" if row.task else ""
                wanted.append(f"{row.verdict}{task}{number_of(row) if row.name else ''}")
            assert found == wanted
            marks = [one.get("class") for one in cell.xpath(".//span[starts-with(@class, 'verdict')]")]
            assert marks == [f"verdict {row.replace(' ', '-')}" for row in rows[rows["study"] == study]["verdict"]]
            seen += len(found)
    assert seen == len(own)


def test_the_overview_has_a_mark_for_every_verdict(page: Page) -> None:
    own = page.verdicts[page.verdicts["across"] == ""]
    (table,) = page.tree.xpath("//table[@class='overview']")
    assert [words(one) for one in table.xpath("thead//th")] == ["Claim", *map(visible, STUDIES), ""]
    lines = {words(line.xpath("th")[0]): line for line in table.xpath("tbody/tr")}
    assert set(lines) == {*own["claim"]}
    for (claim, study), rows in own.groupby(["claim", "study"]):
        cell = lines[claim].xpath("td")[list(STUDIES).index(study)]
        assert [words(one) for one in cell.xpath("span")] == rows["verdict"].tolist()
        for row, mark in zip(rows.itertuples(), cell.xpath("span"), strict=True):
            place = f", {task_name(row.task)}" if row.task else ""
            assert mark.get("title") == visible(f"{study}{place}: {row.verdict}")
        assert page.tree.xpath(f"//tr[@id='{lines[claim].xpath('th/a/@href')[0][1:]}']")


def test_what_studies_decide_together_stands_there(page: Page) -> None:
    rows = page.verdicts[page.verdicts["across"] != ""]
    for (claim, unlike), own in rows.groupby(["claim", "across"]):
        (article,) = page.tree.xpath(f"//article[@id='{claim}-{unlike}']")
        whole, cases = own[own["study"] == ""], own[own["study"] != ""]
        assert words(article.xpath("h3")[0]) == f"{claim} across {unlike}: {whole['verdict'].iloc[0]}"
        text = words(article)
        numbers = [number_of(row) for row in whole.itertuples() if row.name]
        assert all(number[1:] in text for number in numbers)  # the first letter of a sentence is a capital
        assert whole["needed"].iloc[0] in text
        listed = [words(one) for one in article.xpath(".//li")]
        assert len(listed) == len(cases)
        for shown, row in zip(listed, cases.itertuples(), strict=True):
            assert visible(row.study) in shown
            assert shown.endswith(f"{row.verdict} {number_of(row)}")
        (mark,) = page.tree.xpath(f"//tr[@id='claim-{claim}']//a[@href='#{claim}-{unlike}']")
        assert words(mark.getnext()) == whole["verdict"].iloc[0]
    assert set(zip(rows["claim"], rows["across"])) == {
        ("M6", "domains"),
        ("M15", "tasks"),
        ("V6", "languages"),
        ("V6", "domains"),
        ("R2", "tasks"),
    }


def test_studies_without_languages_decide_nothing_about_them(page: Page) -> None:
    rows = page.verdicts[(page.verdicts["claim"] == "V6") & (page.verdicts["across"] == "languages")]
    assert set(rows["verdict"]) == {"undecided at this scale"}
    assert rows["needed"].str.contains("languages").all()


def test_every_number_that_differs_is_a_row(page: Page) -> None:
    sure = page.differences[page.differences["differs"] == 1]
    shown = [words(one) for one in page.tree.xpath("//p[@class='sure']")]
    assert len(shown) == len(sure) > 0
    pairs = [
        f"{row.study}, {task_name(row.task)} less {row.other}, {task_name(row.other_task)}: "
        for row in sure.itertuples()
    ]
    assert all(any(one.startswith(" ".join(pair.split())) for one in shown) for pair in pairs)


def test_numbers_that_differ_are_written_with_their_intervals() -> None:
    verdicts = pandas.DataFrame(list(two_studies()), columns=COMPARISON.names)
    row = {"claim": "M7", "name": "removable", "study": "a", "task": "translation", "other": "b", "other_task": "sst2"}
    row |= {"value": 0.2, "low": 0.15, "high": 0.25, "unit": "share", "words": "{} of heads removable"}
    differences = pandas.DataFrame([row | {"differs": 1, "comparisons": 1}], columns=COMPARISON_DIFFERENCES.names)
    curves = pandas.DataFrame([], columns=COMPARISON_CURVES.names)
    tree = html.fromstring(render(verdicts, differences, curves))
    (item,) = tree.xpath("//ul[@class='numbers']/li")
    assert words(item) == (
        "M7 … of heads removable a, translation50 [40, 60] %b, SST-230 [20, 40] %"
        "a, translation less b, SST-2: +20 [15, 25] points"
    )
    assert "Pruning was run in none" in words(tree)
    assert not tree.xpath("//svg")


def two_studies() -> Iterator[dict[str, Any]]:
    for study, task, value in (("a", "translation", 0.5), ("b", "sst2", 0.3)):
        row = dict.fromkeys(COMPARISON.names, "") | {"claim": "M7", "study": study, "task": task, "name": "removable"}
        row |= {"value": value, "low": value - 0.1, "high": value + 0.1, "unit": "share", "signed": 0}
        yield row | {"words": "{} of heads removable", "verdict": "holds"}


def test_every_curve_has_a_line_and_an_entry_of_the_key(page: Page) -> None:
    entries = list(dict.fromkeys(zip(page.curves["study"], page.curves["task"])))
    assert len(entries) == 4
    key = [words(one) for one in page.tree.xpath("//ul[@class='key']/li")]
    wanted = [" ".join(f"{study}, {task_name(task)}".split()) for study, task in entries]
    assert key == [*wanted, "full model"]
    assert len(page.tree.xpath("//div[starts-with(@class, 'panel ')]/svg")) == 2
    samples = [html.tostring(one) for one in page.tree.xpath("//ul[@class='key']/li/svg")]
    assert len(set(samples)) == len(samples)
    ids = page.tree.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_names_of_studies_are_text(page: Page) -> None:
    assert HOSTILE in page.tree.text_content()
    assert not page.tree.xpath("//script | //@onerror | //img")
    assert len(page.tree.xpath("//h1")) == 1


def test_a_claim_that_no_paper_has_comes_last() -> None:
    rows = [row | {"claim": "<b>X</b>"} for row in two_studies()]
    empty = (pandas.DataFrame([], columns=table.names) for table in (COMPARISON_DIFFERENCES, COMPARISON_CURVES))
    text = render(pandas.DataFrame(rows, columns=COMPARISON.names), *empty)
    assert "Other claims" in text
    assert "<b>X</b>" not in text


def test_files_of_tables_are_those_beside_the_page(page: Page) -> None:
    links = page.tree.xpath("//a[@download]")
    assert [one.get("download") for one in links] == [
        "comparison.csv",
        "comparison_differences.csv",
        "comparison_curves.csv",
    ]
    assert all(one.get("href").startswith("data:text/csv;charset=utf-8,") for one in links)


def test_a_page_is_an_html_file(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"--output reports/page: .*end in \.html"):
        main([str(tmp_path), str(tmp_path), "--output", "reports/page"])


def test_what_is_missing_is_one_line_each(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headroom", "compare", "results/starter", "results/sst2"]
    place = Path(__file__).parents[2] / "workflow"
    ended = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(place)}, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "error: results/starter: there are no results of this study; run it first: make study",
        "results/sst2: there are no results of this study; run it first: make study STUDY=studies/sst2.yaml",
    ]
    assert not (tmp_path / "reports").exists()


SHOWN = "[...document.querySelectorAll('.panel')].filter((one) => one.getBoundingClientRect().width)"
BOARD = "Math.max(...[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth))"


@pytest.mark.parametrize(
    ("width", "dark", "panel", "ground"),
    [(390, True, "panel narrow", "rgb(21, 23, 27)"), (1280, False, "panel wide", "rgb(254, 254, 252)")],
)
def test_the_page_fits_phones_and_desks(
    browser: Browser, page: Page, width: int, dark: bool, panel: str, ground: str
) -> None:
    browser.size(width, dark=dark)
    browser.open(page.path)
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate(WIDE) == []
    assert browser.evaluate(f"{SHOWN}.map((one) => one.className)") == [panel]
    assert browser.evaluate(BOARD) <= 0 or width > 390  # a phone has claims below each other, not a table to scroll
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == ground
