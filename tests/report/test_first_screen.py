"""The first screen: every number on it is a cell of the table `numbers`, every mark a verdict of `claims`."""

import re
from pathlib import Path

import pandas
import pytest
from golden.conftest import Golden
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.figures.numbers import Numbers, read_numbers
from headroom.report.first_screen import Answer
from headroom.study.selection import rows_where
from lxml import html
from report.conftest import claimed
from tables import classified, curve, study

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
    assert [tile.get("href") for tile in tiles] == [f"#claim-{name}" for name in in_order]
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
