"""README.md and docs/results.md: every linked number is that of its cell on the index, or of the claim in a report.

One that links to a section of a report is in a cell of a table there.
"""

import re
from functools import cache
from typing import Any

import lxml.html
import pandas
import pytest
from headroom.claims.pooling import read_grounds
from headroom.claims.sizes import size_slopes
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import FAILS, HOLDS, OF_ONE_MODEL, UNDECIDED, Number
from headroom.core.statistics import Estimate
from headroom.report.comparison import GroundCell, read_finished
from headroom.study.selection import rows_where
from study import ROOT

from tools.reference import list_shipped

SHIPPED = ROOT / "reports" / "reference"
TEXT = "".join((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/results.md"))
CELLS = re.findall(
    r"\[([^][]+(?:\[[^][]+\][^][]*)?)\]\((?:\.\./)?reports/reference/index\.html#([\w-]+)\)"
    r"( (?:holds|does not|open)(?: in this model)?)?",
    TEXT,
)
IN_REPORTS = re.findall(
    r"\[([^][]+(?:\[[^][]+\][^][]*)?)\]\((?:\.\./)?reports/reference/([\w-]+)/report\.html#claim-(\w+)\)", TEXT
)
IN_SECTIONS = re.findall(
    r"\[([^][]*\d[^][]*(?:\[[^][]+\])?)\]\((?:\.\./)?reports/reference/([\w-]+)/report\.html#(?!claim-)([\w-]+)\)", TEXT
)
WORDS = {" holds": HOLDS, " does not": FAILS, " open": UNDECIDED}
WORDS |= {f"{word} in this model": OF_ONE_MODEL[verdict] for word, verdict in WORDS.items() if verdict in OF_ONE_MODEL}


def phrase(value: float, low: float, high: float, unit: str, *, signed: bool) -> str:
    return Number("", Estimate(value, low, high), unit, signed=signed).text()


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{NO-BREAK SPACE}", " ")


@cache
def slopes() -> dict[str, str]:
    """By anchor, how a number changes per doubling of the size."""
    studies = [read_finished(place, SHIPPED) for place in list_shipped(SHIPPED)]
    return {one.anchor: one.slope.text() for one in size_slopes([row for study in studies for row in study.sizes])}


@pytest.mark.long
def test_numbers_of_the_documents_are_those_of_the_shipped_studies() -> None:
    assert len(CELLS) > 40
    assert IN_REPORTS
    assert IN_SECTIONS
    wrong = [link for link in CELLS if not is_of_its_cell(*link)]
    wrong += [link for link in IN_REPORTS if not is_of_the_study(*link)]
    wrong += [link for link in IN_SECTIONS if not is_in_the_section(*link)]
    assert not wrong, wrong


def is_of_its_cell(text: str, anchor: str, word: str) -> bool:
    """Return whether a number, and the verdict beside it, are those of a cell of the index."""
    if anchor in slopes():
        return plain(text) == plain(slopes()[anchor])
    for row in read_grounds().itertuples():
        cell = GroundCell(row.claim, row.part, f"{row.ground}, {row.kind}", row.verdict, "", row.studies)
        if cell.anchor == anchor:
            found = phrase(row.value, row.low, row.high, row.unit, signed=row.threshold == 0)
            return plain(text) == plain(found) and WORDS.get(word, row.verdict) == row.verdict
    return False


def is_of_the_study(text: str, study: str, claim: str) -> bool:
    shipped = SHIPPED / study
    claims = rows_where(CLAIMS.read(shipped / CLAIMS.path), claim=claim, run=POOLED)  # of every task
    numbers = rows_where(NUMBERS.read(shipped / NUMBERS.path), what=claim, run=POOLED)  # beside the one that decides
    signed = pandas.concat([claims["threshold"] == 0, numbers["signed"] == 1])
    found = pandas.concat([claims, numbers])[["value", "low", "high", "unit"]]
    return plain(text) in [plain(phrase(*row, signed=sign)) for row, sign in zip(found.to_numpy(), signed)]


def is_in_the_section(text: str, study: str, section: str) -> bool:
    cells = page_of(study).xpath(f"//*[@id='{section}']//td")
    return plain(text) in {plain(cell.text_content()) for cell in cells}


@cache
def page_of(study: str) -> Any:
    return lxml.html.parse(str(SHIPPED / study / "report.html"))
