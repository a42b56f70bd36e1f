"""Tables in the form of the stages, with resamples, for tests of some of their columns."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy
from headroom.core.resamples import Resamples, resamples_beside
from headroom.core.table import Table

QUANTILES = [NormalDist().inv_cdf((place + 0.5) / 400) for place in range(400)]

OF_ONE_CURVE = (
    *("run", "epoch", "scope", "order", "normalised", "ranking", "repair", "draw", "method", "setting"),
    *("layout", "updates"),
)


def write_rows(table: Table, path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows that have some of a table's columns, the others empty or their default; return the path."""
    filled = [{column.name: column.default or "" for column in table.columns} | row for row in rows]
    table.write(path, filled)
    if table.resampled:
        resampled(filled).write(resamples_beside(path))
    return path


def resampled(rows: Iterable[Mapping[str, Any]]) -> Resamples:
    """Return resamples with the intervals of the rows: normal, independent between curves and models."""
    found = Resamples()
    for row in rows:
        curve = "/".join(str(row.get(name)) for name in OF_ONE_CURVE)
        drawn = numpy.array(random.Random(curve).sample(QUANTILES, len(QUANTILES)))
        known = row.get("heads_removed") != 0 and row.get("high", "") != ""
        half = (row["high"] - row["low"]) / 2 if known else 0.0
        found.add(row["value"] + half * drawn / 1.96, numpy.full(len(drawn), float(row["full"])))
    return found
