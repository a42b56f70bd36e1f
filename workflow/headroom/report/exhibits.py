"""What a report is made of: sections with exhibits (a figure, its caption, the table behind it)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas
from markupsafe import Markup

from headroom.report import svg


@dataclass(frozen=True)
class Column:
    """One column of a shown table: where its values come from, its heading, and how a value is written."""

    source: str
    heading: str
    write: Callable[[Any], str] = str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table as text, and the same rows as CSV to download.

    Attributes:
        caption: What the rows are.
        headings: One per column.
        rows: The cells as text; the first cell heads its row.
        numeric: Per column, whether it holds numbers (aligned to the right).
        csv: The rows behind it, unrounded.
        filename: The name under which the CSV is saved.
        note: What marks in the cells mean.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    csv: str
    filename: str
    note: str = ""


@dataclass(frozen=True)
class Key:
    """One entry of a figure's key: a sample of the mark and its name."""

    sample: Markup
    name: str


@dataclass(frozen=True)
class Row:
    """Panels that belong together, under a label and with a key of their own."""

    label: str
    panels: tuple[Markup, ...]
    key: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Page:
    """One of several drawings that a reader pages through.

    Attributes:
        group: What the pages of one kind have in common, e.g. a head and its role.
        label: The page within its group, short, e.g. the number of a sentence.
        title: The page in words.
        drawing: What is drawn.
    """

    group: str
    label: str
    title: str
    drawing: Markup


@dataclass(frozen=True)
class Paper:
    """The paper's values beside ours: a table of text and where the values come from."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    source: str


@dataclass(frozen=True)
class Exhibit:
    """One figure or table with everything that belongs to it.

    Attributes:
        name: Unique in the report; the file name of the figure.
        rows: The panels; none for an exhibit that is only a table.
        key: Names of the marks.
        alt: The finding in words, for those who do not see the figure.
        how: How to read the figure.
        shows: What it shows, with numbers.
        tables: The tables behind it, folded; the first is unfolded if there is no figure.
        papers: The paper's values beside ours.
        folded: The same for other runs, folded under this title.
        is_atlas: Whether the panels are atlases, whose heads light up.
        pages: Drawings to page through.
    """

    name: str
    rows: tuple[Row, ...] = ()
    key: tuple[Key, ...] = ()
    alt: str = ""
    how: str = ""
    shows: str = ""
    tables: tuple[Table, ...] = ()
    papers: tuple[Paper, ...] = ()
    folded: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    is_atlas: bool = False
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True)
class Section:
    """One experiment: what was done, its exhibits, or in one line that it was not run.

    Attributes:
        identifier: Its anchor in the page.
        title: Its heading.
        lead: What was done.
        exhibits: Its figures and tables.
        missing: That it was not run; empty if it was.
        remarks: What to be wary of.
        task: The task that it is about, in a study of several; marks of heads of one task light up together.
        parts: The same experiment told for each of several tasks, under headings of their own.
    """

    identifier: str
    title: str
    lead: str = ""
    exhibits: tuple[Exhibit, ...] = ()
    missing: str = ""
    remarks: tuple[str, ...] = field(default=())
    task: str = ""
    parts: tuple["Section", ...] = ()


def of_another_task(section: Section, task: str) -> Section:
    """Return a section whose names of figures, files and ids end with `-<task>`, for all tasks but the first."""
    suffix = "-" + re.sub(r"[^\w-]", "-", task)
    exhibits = tuple(_renamed(exhibit, suffix) for exhibit in section.exhibits)
    return replace(section, exhibits=exhibits, task=task)


def _renamed(exhibit: Exhibit, suffix: str) -> Exhibit:
    def renamed(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(replace(row, panels=tuple(_suffixed(panel, suffix) for panel in row.panels)) for row in rows)

    return replace(
        exhibit,
        name=exhibit.name + suffix,
        rows=renamed(exhibit.rows),
        folded=tuple((title, renamed(rows)) for title, rows in exhibit.folded),
        tables=tuple(
            replace(table, filename=table.filename.removesuffix(".csv") + f"{suffix}.csv") for table in exhibit.tables
        ),
    )


def _suffixed(panel: Markup, suffix: str) -> Markup:
    return Markup(svg.with_suffix(str(panel), suffix))


def table_of(
    frame: pandas.DataFrame, columns: Sequence[Column], *, caption: str, filename: str, note: str = ""
) -> Table:
    """Return a shown table with these columns; its CSV has the rows as they are, constant columns included."""
    rows = tuple(
        tuple(column.write(value) for column, value in zip(columns, values, strict=True))
        for values in frame[[column.source for column in columns]].itertuples(index=False)
    )
    return Table(
        caption=caption,
        headings=tuple(column.heading for column in columns),
        rows=rows,
        numeric=tuple(column.numeric for column in columns),
        csv=csv_text(frame),
        filename=filename,
        note=note,
    )


def csv_text(frame: pandas.DataFrame) -> str:
    """Return rows as CSV for the page's sake: 6 significant digits where the tables on disk have 9, fewer columns."""
    shown = frame.drop(columns=["main", "resampled", "full_resampled", "p_sacrebleu", "study"], errors="ignore")
    text: str = shown.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text


def grid_table(
    cells: Mapping[tuple[str, str], str],
    *,
    corner: str,
    caption: str,
    frame: pandas.DataFrame,
    filename: str,
    note: str = "",
) -> Table:
    """Return a table of rows by columns from cells named (row, column), in order of first appearance."""
    row_names = list(dict.fromkeys(row for row, _ in cells))
    column_names = list(dict.fromkeys(column for _, column in cells))
    return Table(
        caption=caption,
        headings=(corner, *column_names),
        rows=tuple((row, *(cells.get((row, column), "") for column in column_names)) for row in row_names),
        numeric=(False, *(True for _ in column_names)),
        csv=csv_text(frame),
        filename=filename,
        note=note,
    )
