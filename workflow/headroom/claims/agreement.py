"""What agrees: effects of heads in two domains, and two criteria on the same heads."""

from dataclasses import replace

import numpy
import pandas

from headroom.claims.ablation import HEADS
from headroom.claims.evidence import by_run, each_run, estimate_in
from headroom.claims.selection import last_epochs, main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading
from headroom.core.statistics import Estimate


def across_domains(tables: StudyTables, *, weak: float, worst: float, enough: float) -> list[Reading]:
    """Decide whether the effects of removing a head correlate across domains, for every far set of every run."""
    found = []
    for rows in by_run(tables.agreement, tables):
        run = str(rows["run"].iloc[0])
        rows = rows_where(last_epochs(rows), kind="all", metric=main_metric(rows), set_a="test")
        for far, pair in rows.groupby("set_b"):
            reading = _of_pair(pandas.DataFrame(pair), weak, worst, few=len(_heads(tables, run)) < enough)
            found += [replace(reading, run=run, part=str(far))] if reading else []
    return found


def _heads(tables: StudyTables, run: str) -> pandas.DataFrame:
    return rows_where(tables.ablation, run=run)[HEADS].drop_duplicates()


def _of_pair(rows: pandas.DataFrame, weak: float, worst: float, *, few: bool) -> Reading | None:
    """Read one run's agreement with one far set."""
    pearson = rows_where(rows, statistic="pearson")
    parts: tuple[tuple[str, pandas.DataFrame], ...] = (
        ("pearson", rows_where(pearson, dropped=0)),
        ("spearman", rows_where(rows, statistic="spearman", dropped=0)),
        ("without_worst", rows_where(pearson, dropped=worst)),
    )
    asked = parts[:2] if few else parts
    if any(part.empty for _, part in asked):
        return None
    numbers = tuple(Number(name, estimate_in(part)) for name, part in asked)
    if any(one.found.high < weak for one in numbers):
        return Reading(FAILS, numbers)
    return Reading(HOLDS if all(one.found.low > 0 for one in numbers) else UNDECIDED, numbers)


@each_run("rank_correlation")
def relevance_and_confidence(rows: pandas.DataFrame, *, weak: float) -> Reading | None:
    """Decide whether relevance ranks the encoder's heads as confidence does."""
    pair = {"confidence", "relevance"}
    rows = rows_where(last_epochs(rows), scope="E", statistic="spearman")
    asked = [{first, second} == pair for first, second in zip(rows["first"], rows["second"])]
    rows = rows[numpy.array(asked, dtype=bool)]
    if rows.empty:
        return None
    found = estimate_in(rows)
    numbers = [Number("spearman", found)]
    if rows["ceiling"].notna().any():
        numbers.append(Number("ceiling", Estimate(float(rows["ceiling"].iloc[0]))))
    if found.high < weak:
        return Reading(FAILS, tuple(numbers))
    return Reading(HOLDS if found.low > 0 and found.value >= weak else UNDECIDED, tuple(numbers))
