"""The page of a released language model: a decoder of thirty layers alone, without trees, trainings or gates."""

from pathlib import Path

import pandas
import pytest
from headroom.claims.table import NUMBERS
from headroom.figures.spec import Figure, list_figures
from headroom.report.__main__ import main
from headroom.report.page import sections
from headroom.study.configuration import list_tables
from headroom.study.selection import rows_where
from lxml import html
from report.chromium import Page
from report.conftest import Written, claimed
from report.example_tables import write_example_maps, write_example_study
from report.test_browser import WIDE

pytestmark = pytest.mark.long

CONFIGURATION = """
study: smollm2
tasks:
  wikitext:
    task: language
    released: {path: model}
    windows: {length: 512}
    arms: {baseline: {method: baseline}}
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("language")
    (place / "study.yaml").write_text(CONFIGURATION, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def paths(directory: Path) -> list[Path]:
    return write_example_study(directory / "tables", tasks=("wikitext",))


@pytest.fixture(scope="module")
def written(directory: Path, paths: list[Path]) -> Written:
    tables, configuration = [str(path) for path in paths], directory / "study.yaml"
    given = ["--maps", *map(str, write_example_maps(directory / "maps", ("wikitext",)))]
    given += ["--configuration", str(configuration), *claimed(directory, tables, configuration)]
    main(["--study", "smollm2", "--tables", *tables, *given, "--output", str(directory / "page.html")])
    return Written(directory / "page.html")


@pytest.fixture(scope="module")
def document(written: Written) -> html.HtmlElement:
    return html.document_fromstring(written.page)


def test_what_was_run_has_a_section(document: html.HtmlElement) -> None:
    found = [one.get("id") for one in document.xpath("//main/section")]
    assert found == [
        *("ablation", "keep_one", "scores", "rank_correlation", "agreement", "pruning", "bakeoff", "roles"),
        *("minimal_pairs", "removal", "timing", "training", "paper", "cite", "provenance"),
    ]
    for section in found[:-3]:
        assert document.xpath(f"//section[@id='{section}']/figure"), section


def test_the_first_screen_has_scores_by_every_metric(document: html.HtmlElement, written: Written) -> None:
    scores = rows_where(NUMBERS.read(written.numbers), what="answer", name="quality")
    assert list(scores["part"]) == ["next", "loss", "bits"]
    shown = document.xpath("//p[@class='scores']/data")
    assert [float(one.get("value")) for one in shown] == pytest.approx(scores["value"].tolist())
    assert len(document.xpath("//ul[@class='cards']/li")) == 2
    assert (
        "270 heads in 30 decoder layers, read in windows of 512 pieces; as released"
        in document.xpath("//header")[0].text_content()
    )


def test_every_atlas_is_of_the_decoder(document: html.HtmlElement) -> None:
    atlases = document.xpath("//*[name()='svg'][contains(@class, 'atlas')]")
    assert len(atlases) > 5
    named = {cell.get("data-head")[0] for atlas in atlases for cell in atlas.xpath(".//*[@data-head]")}
    assert named == {"D"}


def test_no_value_of_a_paper_is_shown(paths: list[Path], directory: Path) -> None:
    parts = sections(list_tables(paths, directory / "study.yaml"))
    shown: list[Figure] = [figure for part in parts for figure in list_figures(part)]
    frames = [one.frame for one in (*shown, *(table for part in parts for fold in part.folds for table in fold.tables))]
    assert len(frames) > 20
    for frame in (frame for frame in frames if isinstance(frame, pandas.DataFrame)):
        assert "paper" not in {*frame.columns, *frame.get("run", []), *frame.get("by", []), *frame.get("source", [])}


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_it_fits_phones_and_desks(browser: Page, written: Written, width: int, dark: bool) -> None:
    browser.size(width, dark=dark)
    browser.open(written.path)
    assert browser.evaluate("[document.documentElement.scrollWidth, errors.length]") == [width, 0]
    assert browser.evaluate(WIDE) == []
