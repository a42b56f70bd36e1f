"""The page as a whole: complete, escaped, self-contained, its numbers cells of tables; and that of other studies."""

import base64
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest
from golden.conftest import Golden
from headroom.claims.entries import read_papers
from headroom.figures.embedding import pack_files
from headroom.report.__main__ import main
from headroom.report.page import sections
from headroom.study.configuration import paths_in
from headroom.study.tables import TABLES, StudyTables
from lxml import etree, html
from report.conftest import HOSTILE, claimed

AROUND = ["board", "explore"], ["paper", "cite", "provenance"]


def test_every_experiment_is_shown_and_none_is_missing(tiny: Golden) -> None:
    assert not tiny.document.xpath("//p[@class='missing']")
    assert tiny.document.xpath("//details[@class='wary']/p/text()") == ["Translation", "Entailment"]
    papers = tiny.document.xpath("//section[@id='paper']//tbody/tr")
    assert len(papers) == sum(len(paper.exhibits) for paper in read_papers())


def test_no_request_leaves_the_page(tiny: Golden) -> None:
    attributes = ("src", "srcset", "href", "action", "poster", "background", "ping", "formaction", "data")
    for element in tiny.document.iter(etree.Element):
        for attribute in attributes:
            value = element.get(attribute, "#")
            is_link = element.tag == "a" and value in {paper.url for paper in read_papers()}
            assert is_link or value.startswith(("#", "data:")), (element.tag, attribute, value[:80])
    assert not tiny.document.xpath("//link | //iframe | //object | //embed | //base | //img")
    assert "@import" not in tiny.text
    assert set(re.findall(r"url\((.)", tiny.text)) <= {"#"}


def test_the_page_is_small(tiny: Golden) -> None:
    assert len(tiny.text.encode()) < 1_500_000  # four models of translation and four classifiers


def page_with(directory: Path, tables: list[Path], study: str = "part", **flags: Path) -> html.HtmlElement:
    """Return the page of a study that has some tables."""
    given = ["--tables", *map(str, tables), *claimed(directory, [*map(str, tables)])]
    given += [f"--{name}={path}" for name, path in flags.items()]
    main(["--study", study, *given, "--output", str(directory / "page.html")])
    return html.document_fromstring((directory / "page.html").read_text(encoding="utf-8"))


def test_text_of_users_is_escaped(tiny: Golden, tmp_path: Path) -> None:
    configuration = tmp_path / "configuration.yaml"
    configuration.write_text("train:\n  note: <script>window.hostile=1</script>\n", encoding="utf-8")
    tables = sorted(tiny.results.glob("evaluation/*.csv"))
    document = page_with(tmp_path, tables, HOSTILE, configuration=configuration)
    assert "<script>window.hostile" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    acting = [script for script in document.xpath("//script") if script.get("type") is None]
    assert len(acting) == 1
    assert HOSTILE in document.xpath("string(//title)")
    assert "<script>window.hostile=1</script>" in document.xpath("string(//section[@id='provenance']//pre)")


def test_a_study_without_any_table_says_so_in_one_paragraph(tmp_path: Path) -> None:
    document = page_with(tmp_path, [])
    assert [section.get("id") for section in document.iter("section")] == [*AROUND[0], *AROUND[1]]
    (missing,) = document.xpath("//section[@id='paper']/p[@class='missing']/text()")
    assert missing.count(". ") + 1 == sum(bool(part.missing) for part in sections(StudyTables()))
    assert not document.xpath("//figure")


@pytest.mark.parametrize("only", ["pruning", "settling", "attention_stats", "pruned_models"])
def test_a_study_with_few_tables_has_a_page(tiny: Golden, only: str, tmp_path: Path) -> None:
    tables = [path for path in paths_in(tiny.results) if path.parent.name == only]
    assert page_with(tmp_path, tables).xpath("//figure")


def test_attention_maps_can_be_paged_without_a_script(tiny: Golden) -> None:
    (pager,) = tiny.document.xpath("//div[@class='pager']")
    choices = pager.xpath("./input")
    assert len({choice.get("name") for choice in choices}) == 1
    assert [choice.get("checked") is not None for choice in choices] == [True, *[False] * (len(tiny.tables.maps) - 1)]
    labels = [choice.getnext() for choice in choices]
    assert [label.get("for") for label in labels] == [choice.get("id") for choice in choices]
    assert all(label.getnext().get("class") == "page" for label in labels)
    turned = [link.get("for") for link in pager.xpath(".//p[@class='turn']/label")]
    assert set(turned) == {choice.get("id") for choice in choices}


def test_attachments_hold_every_file_and_are_the_same_every_time() -> None:
    files = {"runs.csv": "run,score\nr1,1\n", "lines.csv": "x,y\n1,é\n"}
    text = pack_files(files)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert json.loads(gzip.decompress(base64.b64decode(text))) == files
    assert pack_files(dict(reversed(files.items()))) == text
    assert base64.b64decode(text)[4:8] == bytes(4)  # the time


RESCALED = {
    "ablation": {"delta", "low", "high", "delta_first", "delta_second", "share", "kept"},
    "keep_one": {"delta", "low", "high", "p_holm"},
    "agreement": {"first", "second", "value"},
    "pruning": {"share", "kept", "low", "high"},
    "bakeoff": {"kept"},
    "settling": {"done", "share", "kept"},
    "roles": {"margin", "relevance"},
    "gates": {"share", "score", "less", "low", "high", "survive", "expected", "p", "hard_less_soft"},
    "removal": {"value", "saved", "site_share"},
    "timing": {"value", "milliseconds", "cache"},
    "repulsion": {"value", "low", "high", "delta", "share", "kept"},
    "training": {"total_seconds"},
}
"""By section, the columns in other units than the tables' (shares of the score or of heads), or means over runs."""


def test_numbers_are_cells_of_tables(golden: Golden) -> None:
    frames = [*(golden.tables.frame(name) for name in TABLES), golden.numbers]
    values = {value for frame in frames for column in frame.select_dtypes("number") for value in frame[column].dropna()}
    known = {rounded(sign * scale * value) for value in values for sign in (1, -1) for scale in (1, 100)}
    checked = 0
    for section, name, frame in rows_behind(golden):
        for column in frame.select_dtypes("number"):
            plain = column.removesuffix("_low").removesuffix("_high")
            if plain in RESCALED.get(section, ()) or in_words(column):
                continue
            shown = [rounded(value) for value in frame[column].dropna().unique()]
            unknown = [value for value in shown if not value.is_integer() and value not in known]
            assert unknown == [], (section, name, column, unknown[:3])
            checked += len(shown)
    assert checked > 200


def rows_behind(study: Golden) -> Iterator[tuple[str, str, pandas.DataFrame]]:
    """Yield the rows behind every figure and table of the page, which it has as files, with section and name."""
    files = json.loads(gzip.decompress(base64.b64decode(study.document.xpath("string(//*[@id='attachments'])"))))
    for section in study.document.xpath("//main/section[@id != 'provenance']"):
        for one in section.xpath(".//*[@data-csv]"):
            name = one.get("data-csv")
            yield section.get("id"), name, pandas.read_csv(io.StringIO(files[name]))


def rounded(value: float) -> float:
    """Return a value with the digits that files of the page have."""
    return float(f"{value:.6g}")


def in_words(column: str) -> bool:
    """Return whether a column is named in words: a rescaled one of several runs, orders or papers."""
    return column.endswith(("(%)", "(points)", " %")) or column.startswith(
        ("gradient", "paper", "main", "random", "reverse", "single-head")
    )
