"""Tables on disk: tidy CSV, written whole or not at all."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path

LEADING = ("study", "run", "epoch")
"""The columns that open every table about a run."""


def write_table(path: Path | str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write rows as CSV with exactly these columns in this order.

    Floats are written with 9 significant digits: more than any measurement here has, few enough to
    be equal across machines that add in another order.

    Raises:
        ValueError: If a row lacks a column or has one that is not declared (a programming error).
    """
    rows = list(rows)
    for row in rows:
        if set(row) != set(columns):
            raise ValueError(f"row and columns differ in {sorted(set(row) ^ set(columns))}")
    frame = pandas.DataFrame(rows, columns=list(columns))
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.9g", lineterminator="\n")


def read_table(path: Path | str, columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Read a table written by `write_table`; profiles and other texts stay texts, empty text is "".

    Raises:
        HeadroomError: If the file is missing, is not a table, or lacks one of the columns.
    """
    try:
        frame = pandas.read_csv(path, keep_default_na=False, na_values={})
    except (OSError, pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise HeadroomError(f"cannot read the table {path}: {error}") from error
    missing = [column for column in columns or () if column not in frame.columns]
    if missing:
        raise HeadroomError(f"{path}: the column '{missing[0]}' is missing")
    return frame


def number(frame: pandas.DataFrame, column: str) -> "pandas.Series[Any]":
    """Return a column as numbers, empty cells as NaN."""
    return pandas.to_numeric(frame[column], errors="coerce")


def signature(**parts: Any) -> str:
    """Return a signature: everything that affects a number, as `key:value|key:value`, in the given order."""
    return "|".join(f"{key.replace('_', '-')}:{value}" for key, value in parts.items())
