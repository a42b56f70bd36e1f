r"""The rows of TSV files: lines end at "\n" alone and fields are separated by tabs.

Quotation marks are part of a text, unless a file is quoted as spreadsheets and pandas do: fields in quotes, and
inside these two quotes for one.
"""

import logging
import re
from collections.abc import Sequence
from pathlib import Path

from headroom.core.errors import HeadroomError, shorten

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
"""A field in quotes, with every quote inside it doubled."""

_log = logging.getLogger(__name__)


def split_header(line: str) -> list[str]:
    """Return the names of the columns in the first line of a file, also of one in quotes."""
    fields = [field.strip() for field in line.removeprefix("\ufeff").split("\t")]
    return [_unquote(field) for field in fields]


def split_rows(lines: Sequence[str], *, columns: int, name: Path | str, first_line: int) -> list[list[str]]:
    """Split the lines of a file at tabs; `first_line` is the number of the first one.

    Raises:
        HeadroomError: If a line has another number of columns.
    """
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, first_line):
        if len(row) != columns:
            found = "empty line" if not "".join(row).strip() else f"{len(row)} column{'s' if len(row) > 1 else ''}"
            advice = f"write {columns} columns with single tabs between them"
            if any(field.startswith('"') and field.count('"') % 2 for field in row):
                advice = "write spaces for tabs and ends of lines inside a field, also if it is in quotes"
            if "\r" in "\t".join(row).strip("\r"):
                advice = "end lines with a line feed: carriage returns alone do not"
            raise HeadroomError(f"{name}, line {number}: {found}; {advice}")
    return rows


def unquote_rows(rows: list[list[str]], *, name: Path | str, first_line: int) -> list[list[str]]:
    """Return the rows of a user's file without quotes around fields, if it is quoted as spreadsheets and pandas do.

    It is if the quotes inside such a field are doubled, or all fields are in quotes; this is logged. White space around
    fields is dropped.

    Raises:
        HeadroomError: If one field is quoted so and another one has quotes and is not.
    """
    lines = range(first_line, first_line + len(rows))
    rows = [[field.strip() for field in row] for row in rows]
    sure = [number for number, row in zip(lines, rows, strict=True) if any(map(_has_doubled, row))]
    if all(_QUOTED.fullmatch(field) for row in rows for field in row):
        sure = [*lines]
    if not sure:
        return rows
    for number, row in zip(lines, rows, strict=True):
        if wrong := [field for field in row if '"' in field and not _QUOTED.fullmatch(field)]:
            raise HeadroomError(
                f"{name}, line {number}: '{shorten(wrong[0])}' has quotes, but not as line {sure[0]}, where they are "
                "doubled; put all fields with quotes in quotes and double those inside, or none"
            )
    count = sum(bool(_QUOTED.fullmatch(field)) for row in rows for field in row)
    _log.warning("%s, line %d: in quotes, as pandas writes; %d fields are read without them", name, sure[0], count)
    return [[_unquote(field) for field in row] for row in rows]


def _has_doubled(field: str) -> bool:
    return '""' in field[1:-1] and bool(_QUOTED.fullmatch(field))


def _unquote(field: str) -> str:
    return field[1:-1].replace('""', '"') if _QUOTED.fullmatch(field) else field
