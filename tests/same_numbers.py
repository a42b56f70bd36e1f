"""Compare the tables of two runs of one study, except for measured times."""

import csv
from collections.abc import Mapping
from pathlib import Path

CLOCKED_TABLES = ("benchmarks", "timing", "timing_samples", "update_cost")
CLOCKED_MEASURES = {"seconds", "words_per_second", "examples_per_second"}
CLOCKED_CLAIMS = {"M10", "R6"}
CLOCKED_NUMBERS = {"speedup", "masked_speedup", "update_time"}
CLOCKED_STATISTICS = {"seconds"}
CLOCKED_COLUMNS = {"seconds"}


def differing(first: Path, second: Path) -> list[str]:
    """Return the tables that are not the same in two directories of results, or in one of them alone.

    Raises:
        AssertionError: If the first contains no table.
    """
    names = tables_of(first)
    assert names, f"no tables in {first}"
    unlike = [name for name in names & tables_of(second) if rows(first / name) != rows(second / name)]
    return sorted([*unlike, *(names ^ tables_of(second))])


def tables_of(results: Path) -> set[str]:
    """Return the tables of a study, without those of times."""
    paths = (path.relative_to(results) for path in results.rglob("*.csv"))
    return {str(path) for path in paths if path.parts[0].removesuffix(".csv") not in CLOCKED_TABLES}


def rows(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table, without rows and columns of times."""
    with open(table, encoding="utf-8", newline="") as stream:
        kept = [row for row in csv.DictReader(stream) if not is_clocked(row)]
    return [{name: value for name, value in row.items() if name not in CLOCKED_COLUMNS} for row in kept]


def is_clocked(row: Mapping[str, str]) -> bool:
    """Return whether a row is about times: a measure, a statistic, a claim, or a number of the answer."""
    about = {row.get("claim"), row.get("what")}
    return (
        row.get("measure") in CLOCKED_MEASURES
        or row.get("statistic") in CLOCKED_STATISTICS
        or bool(about & CLOCKED_CLAIMS)
        or row.get("name") in CLOCKED_NUMBERS
    )
