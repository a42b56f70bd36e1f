"""Numbers in tables and figures of the page are cells of the study's tables, except rescaled and averaged ones."""

from collections.abc import Iterator

import pandas
import pytest
from headroom.claims.table import NUMBERS
from headroom.figures.spec import Figure, Table, list_figures
from headroom.report.page import sections
from headroom.study.tables import TABLES, StudyTables
from report.conftest import Written

pytestmark = pytest.mark.long

RESCALED = {
    "ablation": {"delta", "low", "high", "delta_first", "delta_second", "share", "kept"},
    "keep_one": {"delta", "low", "high", "p_holm"},
    "agreement": {"first", "second", "value"},
    "pruning": {"share", "kept", "low", "high"},
    "bakeoff": {"kept"},
    "settling": {"done", "share", "kept"},
    "roles": {"margin", "relevance"},
    "gates": {"share", "score", "less", "low", "high", "survive", "expected", "p"},
    "removal": {"value", "saved", "site_share"},
    "timing": {"value", "milliseconds"},
    "repulsion": {"value", "low", "high", "delta", "share", "kept"},
}
"""By section, the columns in other units than the tables' (shares of the score or of heads), or means over runs."""


Shown = list[tuple[str, Figure | Table, pandas.DataFrame]]


@pytest.fixture(scope="module")
def shown(example_tables: StudyTables) -> Shown:
    """Return the rows behind every figure and table of the page, with the section."""
    return list(rows_behind(example_tables))


def rows_behind(study: StudyTables) -> Iterator[tuple[str, Figure | Table, pandas.DataFrame]]:
    for part in sections(study):
        for one in [*list_figures(part), *(table for fold in part.folds for table in fold.tables)]:
            if one.frame is not None:
                yield part.name, one, one.frame


def rounded(value: float) -> float:
    return float(f"{value:.7g}")


@pytest.fixture(scope="module")
def cells(example_tables: StudyTables, report: Written) -> set[float]:
    """Every number of the study's tables and of `numbers`, also negative and in per cent."""
    frames = [*(example_tables.frame(name) for name in TABLES), NUMBERS.read(report.numbers)]
    found = set()
    for frame in frames:
        for column in frame.select_dtypes("number"):
            found |= {float(value) for value in frame[column].dropna().unique()}
    return {rounded(sign * scale * value) for value in found for sign in (1, -1) for scale in (1, 100)}


def in_words(column: str) -> bool:
    """Return whether a column is named in words: a rescaled one of several runs, orders or papers."""
    return column.endswith(("(%)", "(points)", " %")) or column.startswith(
        ("gradient", "paper", "main", "random", "reverse", "single-head")
    )


def test_numbers_are_cells_of_tables(shown: Shown, cells: set[float]) -> None:
    checked = 0
    for section, one, frame in shown:
        for column in frame.select_dtypes("number"):
            name = column.removesuffix("_low").removesuffix("_high")
            if name in RESCALED.get(section, ()) or in_words(column):
                continue
            values = [float(value) for value in frame[column].dropna().unique()]
            unknown = [v for v in values if not v.is_integer() and rounded(v) not in cells]
            assert unknown == [], (section, one.name, column, unknown[:3])
            checked += len(values)
    assert checked > 1000
