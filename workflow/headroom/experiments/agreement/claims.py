"""What agrees: effects of heads in two domains, and two criteria on the same heads."""

from dataclasses import replace

import numpy
import pandas

from headroom.claims.evidence import by_run, each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import Estimate
from headroom.study.selection import SELF_ATTENTION, examined_kind, last_epochs, main_metric, rows_where
from headroom.study.tables import StudyTables


def across_domains(tables: StudyTables, *, weak: float, worst: float) -> list[Reading]:
    """Decide whether the effects of removing a head correlate across domains, for every far set of every run."""
    found = []
    for rows in by_run(tables.agreement, tables):
        run = str(rows["run"].iloc[0])
        rows = rows_where(last_epochs(rows), kind="all", metric=main_metric(rows), set_a="test")
        for far, pair in rows.groupby("set_b"):
            reading = _of_pair(pandas.DataFrame(pair), weak, worst)
            found += [replace(reading, run=run, part=str(far))] if reading else []
    return found


def _of_pair(rows: pandas.DataFrame, weak: float, worst: float) -> Reading | None:
    """Read one run's agreement with one far set."""
    pearson = rows_where(rows, statistic="pearson")
    parts: tuple[tuple[str, pandas.DataFrame], ...] = (
        ("pearson", rows_where(pearson, dropped=0)),
        ("spearman", rows_where(rows, statistic="spearman", dropped=0)),
        ("without_worst", rows_where(pearson, dropped=worst)),
    )
    if any(part.empty for _, part in parts):
        return None
    return Reading(tuple(_correlation(name, part, weak) for name, part in parts))


def _correlation(name: str, rows: pandas.DataFrame, weak: float) -> Number:
    """Return a correlation that has to be above 0, and is refuted below `weak`."""
    return Number(name, estimate_in(rows), asked=above(0.0, refuted=weak), limits=(-1.0, 1.0))


@each_run("rank_correlation")
def relevance_and_confidence(rows: pandas.DataFrame, *, weak: float) -> Reading | None:
    """Decide whether relevance ranks the heads of the encoder, or of a decoder alone, as confidence does."""
    pair = {"confidence", "relevance"}
    kind = examined_kind(rows["scope"])
    rows = rows_where(last_epochs(rows), scope=kind, statistic="spearman")
    asked = [{first, second} == pair for first, second in zip(rows["first"], rows["second"])]
    rows = rows[numpy.array(asked, dtype=bool)]
    if rows.empty:
        return None
    numbers = [replace(_correlation("spearman", rows, weak), about={"of": SELF_ATTENTION[kind]})]
    if rows["ceiling"].notna().any():
        numbers.append(Number("ceiling", Estimate(float(rows["ceiling"].iloc[0])), limits=(0.0, 1.0)))
    return Reading(tuple(numbers))
