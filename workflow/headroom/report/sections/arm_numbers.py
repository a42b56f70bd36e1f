"""What the exhibits about arms have in common: which arms get a line, and numbers by arm."""

import math
from collections.abc import Mapping, Sequence

import pandas

from headroom.claims.paired import compared, main_pair
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.core.formatting import estimate, listing
from headroom.core.statistics import Estimate, mean_of
from headroom.report.exhibits import Table, grid_table

MOST_LINES = 5
"""More lines than this cannot be told apart in one panel."""


def arms_with_lines(tables: StudyTables) -> list[str]:
    """Return the arms drawn as lines: the main repulsive arm and its baseline, then the others as they come."""
    pair = main_pair(tables)
    first = [pair.reference.name, pair.arm.name] if pair else []
    chosen = [*first, *(arm for arm in tables.arm_names if arm not in first)][:MOST_LINES]
    return [arm for arm in tables.arm_names if arm in chosen]


def without_lines(tables: StudyTables, where: str = "the table") -> str:
    """Return a sentence about the arms that have no line; "" if all have."""
    others = [arm for arm in tables.arm_names if arm not in arms_with_lines(tables)]
    return f" No line, for want of room: {listing(others)}; see {where}." if others else ""


def reference_of(tables: StudyTables) -> str:
    """Return the arm that the table `arms` compares the others with."""
    named = [name for name in tables.arms["baseline"] if name]
    return str(named[0]) if named else tables.arm_names[0]


def means(tables: StudyTables, statistic: str) -> dict[str, Estimate]:
    """Return a mean of the table `arms` by arm; arms without it are left out."""
    found = {arm: compared(tables, statistic, arm) for arm in tables.arm_names}
    return {arm: one for arm, one in found.items() if one is not None}


def less_reference(tables: StudyTables, statistic: str) -> dict[str, Estimate]:
    """Return a difference of the table `arms` by arm; arms without it are left out."""
    reference = reference_of(tables)
    found = {arm: compared(tables, statistic, arm, reference) for arm in tables.arm_names}
    return {arm: one for arm, one in found.items() if one is not None}


def by_seed(rows: pandas.DataFrame) -> dict[str, list[float]]:
    """Return the mean of every run's values by arm, a number per seed."""
    runs = rows.groupby("run", sort=False)["value"].mean()
    found: dict[str, list[float]] = {}
    for run, value in runs.items():
        found.setdefault(arm_of(str(run)), []).append(float(value))
    return found


def over_seeds(single: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """Return the mean over seeds by arm."""
    return {arm: mean_of(values) for arm, values in single.items()}


def arms_table(
    tables: StudyTables,
    columns: Mapping[str, Mapping[str, Estimate]],
    *,
    caption: str,
    filename: str,
    note: str,
    signed: bool = False,
) -> Table | None:
    """Return a table with a row per arm and a column per quantity; None if there is no number at all.

    Args:
        tables: The tables of one task.
        columns: By heading the numbers by arm; quantities that no arm has are left out.
        caption: What the rows are.
        filename: Under which the table is saved.
        note: What the brackets are.
        signed: Whether plus signs are written.
    """
    shown = {heading: found for heading, found in columns.items() if found}
    rows = [arm for arm in tables.arm_names if any(arm in found for found in shown.values())]
    if not rows:
        return None
    nothing = Estimate(math.nan)
    numbers = [(arm, heading, found.get(arm, nothing)) for arm in rows for heading, found in shown.items()]
    records = [
        {"arm": arm, "quantity": heading, **one._asdict()} for arm, heading, one in numbers if one is not nothing
    ]
    return grid_table(
        {(arm, heading): estimate(*one, signed=signed) for arm, heading, one in numbers},
        corner="arm",
        caption=caption,
        frame=pandas.DataFrame(records),
        filename=filename,
        note=note,
    )
