"""The first screen: every number on it is a cell of the table `numbers`, every mark a verdict of `claims`."""

import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.figures.numbers import Numbers, read_numbers
from headroom.report.first_screen import Answer
from headroom.study.selection import rows_where
from headroom.study.tables import open_tables
from lxml import html
from report.conftest import Written, claimed
from report.example_tables import Maker, write_example_study
from report.example_tasks import SETS

QUANTITY = re.compile(r"(?<![A-Za-z])\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def document(report: Written) -> html.HtmlElement:
    return html.document_fromstring(report.page)


@pytest.fixture(scope="module")
def numbers(report: Written) -> pandas.DataFrame:
    return NUMBERS.read(report.numbers)


def cell(numbers: pandas.DataFrame, name: str) -> pandas.Series:
    """Return the one row of the table that a marked number names."""
    key = dict(zip(("what", "task", "run", "part", "name"), name.split("|"), strict=True))
    rows = rows_where(numbers, **key)
    assert len(rows) == 1, name
    return rows.iloc[0]


def test_marked_numbers_are_those_of_their_cells(document: html.HtmlElement, numbers: pandas.DataFrame) -> None:
    marked = document.xpath("//data[@data-cell]")
    assert len(marked) > 20
    for one in marked:
        row = cell(numbers, one.get("data-cell"))
        (written,) = (one.number for one in read_numbers(row.to_frame().T))
        text = one.text_content().replace("\u202f", " ").replace("\u00a0", " ")
        if text.startswith("["):
            assert [float(end) for end in one.get("value").split()] == pytest.approx([row["low"], row["high"]])
            assert text in written.text().replace("\u202f", " ")
        else:
            assert float(one.get("value")) == pytest.approx(row["value"], rel=1e-8)
            assert text in (written.bare().replace("\u202f", " "), written.text().replace("\u202f", " "))


@pytest.mark.parametrize("place", ["//ul[@class='cards']//a", "//main/section/h2"])
def test_no_number_stands_there_unmarked(document: html.HtmlElement, place: str) -> None:
    found = document.xpath(place)
    assert len(found) > 4
    for one in found:
        for marked in one.xpath(".//data"):
            marked.text = ""
        text = one.text_content().replace("CoLA", "").replace("SST-2", "")
        assert not QUANTITY.search(text), text


def test_every_mark_on_the_board_is_a_verdict(document: html.HtmlElement, report: Written) -> None:
    claims = CLAIMS.read(report.claims)
    pooled = claims[claims["run"] == POOLED]
    tiles = document.xpath("//section[@id='board']//a[@class='tile']")
    assert [tile.get("href") for tile in tiles] == [f"#claim-{name}" for name in _in_order(pooled)]
    for tile in tiles:
        name = tile.get("href").removeprefix("#claim-")
        marks = [mark.get("class").removeprefix("mark ").replace("-", " ") for mark in tile.xpath(".//*[name()='svg']")]
        assert marks == pooled[pooled["claim"] == name]["verdict"].tolist(), name
        (unfolded,) = document.xpath(f"//details[@id='claim-{name}']")
        words = [one.text_content().strip() for one in unfolded.xpath("./dl//span[contains(@class, 'verdict')]")]
        assert words == marks


def test_claims_say_the_numbers_of_their_table(document: html.HtmlElement, numbers: pandas.DataFrame) -> None:
    pooled = numbers[(numbers["run"] == POOLED) & (numbers["what"] != "answer")]
    for name, own in pooled.groupby("what"):
        (unfolded,) = document.xpath(f"//details[@id='claim-{name}']")
        text = re.sub(r"[\u202f\u00a0]", " ", unfolded.text_content())
        for one in read_numbers(own):
            assert one.number.text().replace("\u202f", " ") in text, (one.cell, one.number)


def _in_order(pooled: pandas.DataFrame) -> list[str]:
    """Return the claims of a table, paper after paper as in the table of the papers: Michel, Voita, An."""
    names = list(dict.fromkeys(pooled["claim"]))
    return sorted(names, key=lambda name: ("MVRBC".index(name[0]), int(name[1:])))


def cards(directory: Path, task: str) -> str:
    """Return the text of the cards of a study with one task."""
    shown = ("pruning", "evaluation", "ablation", "keep_one", "timing")
    paths = write_example_study(directory / "tables", only=shown, tasks=(task,))
    claimed(directory, list(map(str, paths)))
    numbers = Numbers(NUMBERS.read(directory / "numbers.csv"))
    answer = Answer(open_tables(paths), numbers, CLAIMS.read(directory / "claims.csv"))
    return " ".join(html.fromstring(f"<div>{answer.render()}</div>").text_content().split())


WEAK = "The models are weak"
BELOW = "No model scores above chance, the best 3.0 points of accuracy below it"


@pytest.mark.parametrize(
    ("task", "above", "said"),
    [("sst2", 0.4, WEAK), ("sst2", -3.0, BELOW), ("translation", 0.4, WEAK), ("translation", 4.0, WEAK)],
)
def test_a_model_near_chance_is_called_weak_and_no_share_of_its_score_is_shown(
    task: str, above: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`above` are points above chance; with less than one there are no shares."""
    curve = Maker.curve

    def near_chance(self: Maker, *given: Any) -> Any:
        return curve(self, *given, full=self.chance + above)

    monkeypatch.setattr(Maker, "curve", near_chance)
    monkeypatch.setitem(SETS, "test", above + (50 if task == "sst2" else 0))
    found = cards(tmp_path, task)
    assert said in found
    assert ("of heads can go before" in found) == (above > 1)
