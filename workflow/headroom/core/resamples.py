"""Resampled scores stored next to a table, for paired differences between curves, sets and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy
from numpy import ndarray

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path

if TYPE_CHECKING:
    import pandas

    from headroom.core.table import Table


class MissingResamplesError(HeadroomError):
    """An error of what needs the resamples of a table that has none, as the shipped tables of finished studies."""


def resamples_beside(table: Path | str) -> Path:
    """Return the path of a table's resamples: `.npz` instead of `.csv`."""
    return Path(table).with_suffix(".npz")


class Resamples:
    """Scores on every resample of a set's examples, for some rows of a table; a `.npz` file next to it.

    All models that are evaluated on the same examples share the resamples: the difference of two models on resample i
    is the difference of their i-th numbers, within and across runs.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._kept: list[int] = []
        self._values: list[ndarray] = []
        self._fulls: list[ndarray] = []
        self._full_of: list[int] = []

    def add(self, value: ndarray | None = None, full: ndarray | None = None) -> None:
        """Add the next row of the table, with its (samples,) scores and those of the full model, or without scores."""
        if value is not None and full is not None:
            known = (place for place, one in enumerate(self._fulls) if numpy.array_equal(full, one))
            place = next(known, len(self._fulls))
            self._fulls += [full] if place == len(self._fulls) else []
            self._kept.append(self._rows)
            self._values.append(value)
            self._full_of.append(place)
        self._rows += 1

    def write(self, path: Path | str) -> None:
        """Write the file atomically, in single precision, which exceeds the precision of the written intervals.

        It is not compressed: that would save a third on its own, and cost a third of the archive of a shipped study.
        """
        values, fulls = (numpy.array(own, dtype=numpy.float32) for own in (self._values, self._fulls))
        places = numpy.array(self._kept), numpy.array(self._full_of)
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            numpy.savez(stream, rows=places[0], full_of=places[1], values=values, fulls=fulls)


def read_with_resamples(table: Table, paths: Sequence[Path | str]) -> pandas.DataFrame:
    """Read files of a table as one, with the resamples stored next to them.

    These are two more columns, `resampled` and `full_resampled`: the scores of the row's model and of the full one on
    every resample of the examples, (samples,); None in rows without, as all rows of a file that has none beside it.

    Raises:
        HeadroomError: If a file cannot be read.
    """
    import pandas

    found = table.read_all(paths)
    if found.empty:
        return found
    pairs: list[tuple[Any, Any]] = []
    for path in paths:
        beside = resamples_beside(path)
        known = read_resamples(beside) if beside.exists() else {}
        pairs += [known.get(row, (None, None)) for row in range(len(table.read(path)))]
    columns = dict(zip(("resampled", "full_resampled"), zip(*pairs)))
    return found.assign(**{name: pandas.Series(own, index=found.index, dtype=object) for name, own in columns.items()})


def require_resamples(rows: pandas.DataFrame) -> None:
    """Refuse rows without resamples.

    Raises:
        MissingResamplesError: If a row has none.
    """
    if "resampled" not in rows or rows["resampled"].isna().any():
        run = rows["run"].iloc[0]
        raise MissingResamplesError(f"{run}: its scores have no resamples (.npz); run the rule that writes them again")


def read_resamples(path: Path | str) -> dict[int, tuple[ndarray, ndarray]]:
    """Return the (samples,) scores of a model and of the full model by the number of the row in the table, from 0.

    Raises:
        HeadroomError: If the file cannot be read.
    """
    try:
        with numpy.load(path, allow_pickle=False) as stored:
            values, fulls = stored["values"], stored["fulls"]
            rows, full_of = stored["rows"].astype(int), stored["full_of"].astype(int)
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise HeadroomError(f"{path}: cannot read the resamples; delete the file and rerun its job") from error
    return {int(row): (values[place], fulls[full]) for place, (row, full) in enumerate(zip(rows, full_of))}
