"""Which arms get a line, and their numbers over seeds."""

from collections.abc import Mapping, Sequence

import pandas

from headroom.claims.paired import main_pair
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.core.formatting import listing
from headroom.core.statistics import Estimate, mean_of

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
