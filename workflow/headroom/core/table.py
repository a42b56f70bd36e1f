"""Tables on disk: declarations of tidy CSV files, and their checked, atomic writing and reading."""

import csv
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headroom.core.errors import HeadroomError, out_of_memory
from headroom.core.files import atomic_path

if TYPE_CHECKING:  # the workflow reads only declarations and should not wait for pandas
    import pandas

Type = Literal["text", "integer", "number"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its heading.
        type: The type of its cells; a cell of any type may be empty.
        meaning: Its meaning, as Markdown.
        unit: Unit of its numbers, "" if they have none or it differs by row.
        default: What all of its cells are in a file of an earlier version, which lacks it; None if no file may.
    """

    name: str
    type: Type
    meaning: str
    unit: str = ""
    default: str | None = None

    def means(self, meaning: str) -> "Column":
        """Return the column with another meaning."""
        return replace(self, meaning=meaning)

    def takes(self, value: Any) -> bool:
        """Return whether a value can be a cell of this column; None and "" are empty cells."""
        if value is None:
            return True
        if isinstance(value, str):
            return self.type == "text" or value == ""
        if self.type == "text" or not isinstance(value, numbers.Real) or isinstance(value, bool):
            return False
        return self.type == "number" or math.isnan(value) or float(value).is_integer()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that a stage writes.

    Attributes:
        path: Its path below `results/<study>/`, e.g. `ablation/{run}.csv`.
        key: The columns that identify a row.
        columns: All of its columns, in order.
        about: Its description, as Markdown.
        resampled: Whether every file of it has an `.npz` file with the scores of its rows on every resample of the
            examples (see `core.resamples`).
        usual: By column, the value in the rows that are meant where a claim or a section names the table alone.
    """

    path: str
    key: tuple[str, ...]
    columns: tuple[Column, ...] = field(repr=False)
    about: str = field(repr=False)
    resampled: bool = False
    usual: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name: that of its directory, or of its file if a study has only one."""
        return self.path.partition("/")[0].removesuffix(".csv")

    @property
    def of_study(self) -> bool:
        """Whether a study has one file of it, not one per run."""
        return "/" not in self.path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    @property
    def typed_names(self) -> dict[str, str]:
        """The types of its columns by name, in order: they determine the bytes of its files."""
        return {column.name: column.type for column in self.columns}

    def write(self, path: Path | str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows as CSV.

        Floats are written with 9 significant digits: more than the precision of any measurement, few enough to
        be equal on machines with another order of summation.

        Raises:
            ValueError: If a row lacks a column, has one that is not declared, or a cell of another type (a
                programming error).
        """
        rows = list(rows)
        for row in rows:
            if row.keys() != set(self.names):
                raise ValueError(f"{self.name}: row and columns differ in {sorted(row.keys() ^ set(self.names))}")
            for column in self.columns:
                if not column.takes(row[column.name]):
                    raise ValueError(f"{self.name}: {column.name} should be {column.type}: {row[column.name]!r}")
        cells = [[_write_cell(row[name]) for name in self.names] for row in rows]
        with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([self.names, *cells])

    def read(self, path: Path | str) -> "pandas.DataFrame":
        """Read a file of this table: texts stay text, an empty one is ""; numbers are numbers, an empty one is NaN.

        Raises:
            HeadroomError: If the file is missing, cut off or not a table, lacks a column, or has text where numbers
                should be.
        """
        import pandas

        texts = {column.name: str for column in self.columns if column.type == "text"}
        try:
            if not _ends_with_a_line(path):
                raise HeadroomError(f"{path}: ends within a line, part of it is lost; rerun the job that writes it")
            frame = pandas.read_csv(path, keep_default_na=False, na_values={}, dtype=texts)
        except (OSError, pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeDecodeError) as error:
            if out_of_memory(error):
                raise
            raise HeadroomError(f"{path}: cannot read the table, {error}; rerun the job that writes it") from error
        missing = [column for column in self.columns if column.name not in frame.columns]
        for column in missing:
            if column.default is None:
                raise HeadroomError(f"{path}: the column '{column.name}' is missing; rerun the job that writes it")
            frame[column.name] = column.default
        for column in self.columns:
            if column.type != "text":
                frame[column.name] = _numbers(frame[column.name], f"{path}: the column '{column.name}'")
        return frame

    def read_all(self, paths: Sequence[Path | str]) -> "pandas.DataFrame":
        """Read files of this table as one; without any row, an empty frame with its columns and their types."""
        import pandas

        frames = [self.read(path) for path in paths]
        filled = [frame for frame in frames if len(frame)]
        if filled:
            return pandas.concat(filled, ignore_index=True)
        return pandas.DataFrame(
            {one.name: pandas.Series(dtype=str if one.type == "text" else float) for one in self.columns}
        )


class Registry:
    """The tables of a study by name, in the order in which they are documented."""

    def __init__(self, *tables: Table) -> None:
        self.by_name = {table.name: table for table in tables}


def signature(**parts: Any) -> str:
    """Return a signature: everything that affects a number, as `key:value|key:value`, in the given order."""
    return "|".join(f"{key.replace('_', '-')}:{value}" for key, value in parts.items())


def _ends_with_a_line(path: Path | str) -> bool:
    with open(path, "rb") as stream:
        length = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, length - 1))
        return stream.read() in (b"\n", b"")


def _write_cell(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:
        return ""
    return str(cell) if isinstance(cell, numbers.Integral) else f"{cell:.9g}"


def _numbers(cells: "pandas.Series[Any]", where: str) -> "pandas.Series[Any]":
    import pandas

    found = pandas.to_numeric(cells, errors="coerce")
    bad = found.isna() & cells.notna() & (cells.astype(str) != "")
    if bad.any():
        raise HeadroomError(f"{where} contains '{cells[bad].iloc[0]}', not a number; rerun the job that writes it")
    return found
