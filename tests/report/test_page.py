"""The page as a whole: complete, escaped, self-contained, its numbers cells of tables; and that of other studies."""

import base64
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy
import pandas
import pytest
from golden.conftest import Golden
from headroom.claims.entries import read_papers
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.figures.drawing import pack_files
from headroom.figures.numbers import Numbers, read_numbers
from headroom.report import __main__ as report
from headroom.report.first_screen import Answer
from headroom.report.page import sections
from headroom.study.configuration import paths_in
from headroom.study.selection import rows_where
from headroom.study.tables import TABLES, StudyTables
from lxml import etree, html
from report.conftest import HOSTILE, claimed
from study import run_stage
from tables import classified, curve, study

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
    run_stage(report, ["--study", study, *given, "--output", str(directory / "page.html")])
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


@pytest.mark.parametrize("only", ["pruning", "agreement", "attention_stats", "pruned_models"])
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
    "agreement": {"first", "second", "value", "done", "share", "kept"},
    "pruning": {"share", "kept", "low", "high"},
    "bakeoff": {"kept", "correlation", "ceiling"},
    "roles": {"margin", "relevance"},
    "gates": {"share", "score", "less", "low", "high", "survive", "expected", "p", "hard_less_soft"},
    "removal": {"value", "saved", "site_share"},
    "timing": {"value", "milliseconds", "cache"},
    "repulsion": {"value", "low", "high", "delta", "share", "kept"},
    "training": {"total_seconds"},
}
"""By section, the columns in other units than the tables' (shares of the score or of heads), or means over runs."""


def known_numbers(frames: list[pandas.DataFrame]) -> Iterator[pandas.Series]:
    """Yield the columns of tables, the ends of intervals, and perplexities with theirs."""
    for frame in frames:
        yield from (pandas.to_numeric(frame[column], errors="coerce") for column in frame)
        if {"metric", "value", "low", "high"} <= {*frame}:
            ends = [frame[end] + frame.get("full", 0.0) for end in ("low", "high")]
            yield from ends
            yield from (numpy.exp(one[frame["metric"] == "loss"]) for one in (frame["value"], *ends))


def test_numbers_are_cells_of_tables(golden: Golden) -> None:
    frames = [*(golden.tables.frame(name) for name in TABLES), golden.numbers]
    values = {float(value) for column in known_numbers(frames) for value in column.dropna()}
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


QUANTITY = re.compile(r"(?<![A-Za-z])\d+(?:\.\d+)?")


def cell(numbers: pandas.DataFrame, name: str) -> pandas.Series:
    """Return the one row of the table that a marked number names."""
    key = dict(zip(("what", "task", "run", "part", "name"), name.split("|"), strict=True))
    rows = rows_where(numbers, **key)
    assert len(rows) == 1, name
    return rows.iloc[0]


def test_marked_numbers_are_those_of_their_cells(golden: Golden) -> None:
    marked = golden.document.xpath("//data[@data-cell]")
    assert len(marked) > 10
    for one in marked:
        row = cell(golden.numbers, one.get("data-cell"))
        (written,) = (one.number for one in read_numbers(row.to_frame().T))
        text = one.text_content().replace("\u202f", " ").replace("\u00a0", " ")
        if text.startswith("["):
            assert [float(end) for end in one.get("value").split()] == pytest.approx([row["low"], row["high"]])
            assert text in written.text().replace("\u202f", " ")
        else:
            assert float(one.get("value")) == pytest.approx(row["value"], rel=1e-8)
            assert text in (written.bare().replace("\u202f", " "), written.text().replace("\u202f", " "))


@pytest.mark.parametrize("place", ["//ul[@class='cards']//a", "//main/section/h2"])
def test_no_number_stands_there_unmarked(golden: Golden, place: str) -> None:
    found = [html.fromstring(html.tostring(one)) for one in golden.document.xpath(place)]
    assert found
    for one in found:
        for marked in one.xpath(".//data"):
            marked.text = ""
        assert not QUANTITY.search(one.text_content()), one.text_content()


def test_every_mark_on_the_board_is_a_verdict(golden: Golden) -> None:
    pooled = golden.claims[golden.claims["run"] == POOLED]
    tiles = golden.document.xpath("//section[@id='board']//a[@class='tile']")
    in_order = sorted(set(pooled["claim"]), key=lambda name: ("MVRBC".index(name[0]), int(name[1:])))
    shown = [tile.get("href") for tile in tiles]
    folded = [tile.get("href") for tile in golden.document.xpath("//section[@id='board']//details//a[@class='tile']")]
    expected = [f"#claim-{name}" for name in in_order]  # folded ones follow
    assert shown == [*(one for one in expected if one not in folded), *folded]
    assert sorted(shown) == sorted(expected)
    for tile in tiles:
        name = tile.get("href").removeprefix("#claim-")
        marks = [mark.get("class").removeprefix("mark ").replace("-", " ") for mark in tile.xpath(".//*[name()='svg']")]
        assert marks == pooled[pooled["claim"] == name]["verdict"].tolist(), name
        (unfolded,) = golden.document.xpath(f"//details[@id='claim-{name}']")
        words = [one.text_content().strip() for one in unfolded.xpath("./dl//span[contains(@class, 'verdict')]")]
        assert words == marks


def test_claims_say_the_numbers_of_their_table(golden: Golden) -> None:
    pooled = golden.numbers[(golden.numbers["run"] == POOLED) & (golden.numbers["what"] != "answer")]
    for name, own in pooled.groupby("what"):
        (unfolded,) = golden.document.xpath(f"//details[@id='claim-{name}']")
        text = re.sub(r"[\u202f\u00a0]", " ", unfolded.text_content())
        for one in read_numbers(own):
            assert one.number.text().replace("\u202f", " ") in text, (one.cell, one.number)


WEAK = "The models are weak"
BELOW = "No model scores above chance, the best 3.0 points of accuracy below it"


@pytest.mark.parametrize(
    ("task", "above", "said"),
    [("sst2", 0.4, WEAK), ("sst2", -3.0, BELOW), ("translation", 0.4, WEAK), ("translation", 4.0, WEAK)],
)
def test_a_model_near_chance_is_called_weak_and_no_share_of_its_score_is_shown(
    task: str, above: float, said: str, tmp_path: Path
) -> None:
    """`above` are points above chance; with less than one there are no shares."""
    chance = 50.0 * (task == "sst2")
    full = chance + above
    values = [chance + above * (1 - removed / 10) for removed in range(11)]
    rows = [row | {"full": full, "delta": row["value"] - full, "chance": chance} for row in curve(values, width=0.1)]
    for row, value in zip(rows, values):
        row |= {"low": value - full - 0.1, "high": value - full + 0.1}
    scores = [{"value": full, "low": full - 0.1, "high": full + 0.1}]
    rows, scores = (classified(own) if task == "sst2" else own for own in (rows, scores))
    tables = study(tmp_path / "tables", pruning=rows, evaluation=scores)
    claimed(tmp_path, list(map(str, tables.files)))
    numbers = Numbers(NUMBERS.read(tmp_path / "numbers.csv"))
    answer = Answer(tables, numbers, CLAIMS.read(tmp_path / "claims.csv"))
    found = " ".join(html.fromstring(f"<div>{answer.render()}</div>").text_content().split())
    assert said in found
    assert ("of heads can go before" in found) == (above > 1)
