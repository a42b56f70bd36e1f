"""The page as a whole: complete, escaped, self-contained; and that of a study in which nothing was run."""

import re
from pathlib import Path

import pytest
from headroom.claims.entries import read_papers
from headroom.report.__main__ import main
from lxml import etree, html
from report.conftest import HOSTILE, Written, claimed
from report.example_tables import write_example_study

EXPERIMENTS = [
    *("ablation", "keep_one", "scores", "rank_correlation", "agreement", "pruning", "bakeoff", "settling", "roles"),
    *("phenomena", "gates", "removal", "timing", "repulsion", "training"),
]
AROUND = ["board", "explore"], ["paper", "cite", "provenance"]


@pytest.fixture(scope="module")
def document(report: Written) -> html.HtmlElement:
    return html.document_fromstring(report.page)


def test_every_experiment_of_a_full_study_is_shown(document: html.HtmlElement) -> None:
    assert not document.xpath("//p[@class='missing']")
    assert len(document.xpath("//ul[@class='cards']/li")) == 5  # none for M10, not comparable here
    wary = document.xpath("//details[@class='wary']/p/text()")
    assert wary == ["Translation", "SST-2", "CoLA"]
    for name in EXPERIMENTS:
        assert document.xpath(f"//section[@id='{name}']//figure | //section[@id='{name}']//table"), name
    papers = document.xpath("//section[@id='paper']//tbody/tr")
    assert len(papers) == sum(len(paper.exhibits) for paper in read_papers())


def test_no_request_leaves_the_page(report: Written, document: html.HtmlElement) -> None:
    attributes = ("src", "srcset", "href", "action", "poster", "background", "ping", "formaction", "data")
    for element in document.iter(etree.Element):
        for attribute in attributes:
            value = element.get(attribute, "#")
            is_link = element.tag == "a" and value in {paper.url for paper in read_papers()}
            assert is_link or value.startswith(("#", "data:")), (element.tag, attribute, value[:80])
    assert not document.xpath("//link | //iframe | //object | //embed | //base | //img")
    assert "@import" not in report.page
    assert set(re.findall(r"url\((.)", report.page)) <= {"#"}


def test_the_page_is_small(report: Written) -> None:
    assert len(report.page.encode()) < 2_500_000  # four models of translation and two classifiers


def test_text_from_data_is_escaped(report: Written, document: html.HtmlElement) -> None:
    assert "<script>window.hostile" not in report.page
    acting = [script for script in document.xpath("//script") if script.get("type") is None]
    assert len(acting) == 1
    assert HOSTILE in document.xpath("string(//title)")
    assert "<script>window.hostile=1</script>" in document.xpath("string(//section[@id='provenance']//pre)")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Written:
    directory = tmp_path_factory.mktemp("empty")
    main(["--study", "empty", *claimed(directory, []), "--output", str(directory / "empty.html")])
    return Written(directory / "empty.html")


def test_a_study_without_any_table_says_so_in_one_paragraph(empty: Written) -> None:
    document = html.document_fromstring(empty.page)
    assert [section.get("id") for section in document.iter("section")] == [*AROUND[0], *AROUND[1]]
    (missing,) = document.xpath("//section[@id='paper']/p[@class='missing']/text()")
    assert missing.count(". ") + 1 == len(EXPERIMENTS)
    assert not document.xpath("//figure")


@pytest.mark.parametrize("only", ["ablation", "pruning", "settling", "attention_stats", "roles gates", "pruned_models"])
def test_a_study_with_few_tables_has_a_page(only: str, tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=tuple(only.split()))
    given = ["--tables", *map(str, paths), *claimed(tmp_path, [*map(str, paths)])]
    main(["--study", "part", *given, "--output", str(tmp_path / "part.html")])
    document = html.document_fromstring((tmp_path / "part.html").read_text(encoding="utf-8"))
    assert document.xpath("//figure")


def test_attention_maps_can_be_paged_without_a_script(document: html.HtmlElement) -> None:
    pagers = document.xpath("//div[@class='pager']")
    assert len(pagers) == 1
    for pager in pagers:
        choices = pager.xpath("./input")
        assert len({choice.get("name") for choice in choices}) == 1
        assert [choice.get("checked") is not None for choice in choices] == [True, *[False] * 11]
        labels = [choice.getnext() for choice in choices]
        assert [label.get("for") for label in labels] == [choice.get("id") for choice in choices]
        assert all(label.getnext().get("class") == "page" for label in labels)
        turned = [link.get("for") for link in pager.xpath(".//p[@class='turn']/label")]
        assert set(turned) == {choice.get("id") for choice in choices}
    assert pagers[0].xpath("string(.//*[local-name()='svg'])").count("<b>quickly</b>") == 2
