"""Rows that claims rest on: runs of the baseline, main order, points of a curve."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy
import pandas

from headroom.claims.chance import measurable, with_scale
from headroom.claims.selection import last_epochs, main_criterion, main_metric, main_set, rows_where
from headroom.claims.study_tables import StudyTables, TaskKind, arm_of, kind_of, task_of
from headroom.claims.verdict import UNDECIDED, Estimate, Number, Reading


def by_run(frame: pandas.DataFrame) -> Iterator[pandas.DataFrame]:
    """Yield the rows of each run of the baseline, or of the first arm of a study without a baseline."""
    arms = frame["run"].map(arm_of)
    arm = "baseline" if (arms == "baseline").any() else min(arms, default="")
    for _, rows in frame[arms == arm].groupby("run"):
        yield pandas.DataFrame(rows)


def scaled_by_run(tables: StudyTables, name: str) -> Iterator[pandas.DataFrame]:
    """Yield the rows of each run of the baseline in a table, with `chance` and `scale` where there are scores."""
    for rows in by_run(tables.frame(name)):
        yield with_scale(rows, tables) if "full" in rows else rows


def readings(
    tables: StudyTables, name: str, read: Callable[[pandas.DataFrame], Reading | None], *, shares: bool = False
) -> list[Reading]:
    """Return what each run of the baseline says; runs that lack the rows say nothing.

    Args:
        tables: The tables of one task.
        name: The table that is read.
        read: Returns what one run says, given its rows.
        shares: Whether shares of the score are asked for: then a model that scores next to nothing, or a classifier
            that scores no more than it does without any head, is undecided.
    """
    found = []
    for rows in scaled_by_run(tables, name):
        reading = (_unskilled(rows) if shares else None) or read(rows)
        if reading is not None:
            found.append(replace(reading, run=str(rows["run"].iloc[0])))
    return found


def has_skill(rows: pandas.DataFrame) -> bool:
    """Return whether one run's full model scores enough above chance for shares of it."""
    rows = judged(rows)
    return rows.empty or bool(measurable(rows).any())


def _unskilled(rows: pandas.DataFrame) -> Reading | None:
    if has_skill(rows):
        return None
    rows = judged(rows)
    above = Estimate(float(rows["scale"].iloc[0]))
    signed = task_kind(rows) == "classification"
    return Reading(UNDECIDED, (Number("above_chance", above, signed=signed, about={"metric": main_metric(rows)}),))


def task_kind(rows: pandas.DataFrame) -> TaskKind:
    """Return whether rows are of translation or of classification."""
    return kind_of(task_of(str(rows["run"].iloc[0])))


def judged(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the last epoch and the main metric on the set that runs are judged on."""
    rows = rows_where(last_epochs(frame), metric=main_metric(frame))
    return rows_where(rows, set=main_set(rows)) if len(rows) else rows


def safe(rows: pandas.DataFrame, margin: float) -> numpy.ndarray:
    """Return which rows' intervals exclude a noticeable loss, (rows,): that of a `margin` of the score's scale."""
    if rows.empty:
        return numpy.zeros(0, dtype=bool)
    result: numpy.ndarray = (rows["low"] > -margin * rows["scale"]).to_numpy()
    return result


def main_curve(frame: pandas.DataFrame, scope: str = "all") -> pandas.DataFrame:
    """Return one run's curve by the main order, in order of heads removed: raw scores, ranked once.

    A study without the main order is judged by the first fixed gradient order that it has.
    """
    rows = rows_where(judged(frame), scope=scope, ranking="fixed")
    rows = rows[rows["order"].str.startswith("gradient") | (rows["order"] == main_criterion(rows))]
    return preferred(rows, "order").sort_values("heads_removed")


def preferred(rows: pandas.DataFrame, criterion: str) -> pandas.DataFrame:
    """Return the rows of the main criterion, raw, or else of the first one; `criterion` names its column."""
    named = rows[[criterion, "normalised"]].drop_duplicates()
    names = [(str(name), str(normalised)) for name, normalised in named.itertuples(index=False)]
    main = (main_criterion(rows), "raw")
    name, normalised = main if main in names else (names or [main])[0]
    return rows_where(rows, **{criterion: name, "normalised": normalised})


def order_curve(frame: pandas.DataFrame, order: str) -> pandas.DataFrame:
    """Return one run's curve over all kinds by another order, the mean of its draws."""
    rows = rows_where(judged(frame), scope="all", order=order, ranking="fixed")
    means = rows.groupby(["heads_removed", "heads_total"])[["value", "full", "delta", "low", "high", "scale"]].mean()
    return means.reset_index()


def share_removed(curve: pandas.DataFrame) -> numpy.ndarray:
    """Return the share of heads in scope that is gone at each point of a curve, (points,)."""
    return (curve["heads_removed"] / curve["heads_total"]).to_numpy(dtype=float)


def kept(curve: pandas.DataFrame) -> list[Estimate]:
    """Return the score at each point as a share of the full model's, with the paired difference's interval."""
    scale = curve["scale"].where(curve["scale"] > 0)
    shares = (1 + curve[["delta", "low", "high"]].div(scale, axis=0)).to_numpy(dtype=float)
    return [Estimate(*map(float, share)) for share in shares]


def point_at(curve: pandas.DataFrame, share: float) -> Estimate | None:
    """Return what is kept at the point nearest to a share of heads removed; None if none is within 0.1."""
    if curve.empty:
        return None
    distance = numpy.abs(share_removed(curve) - share)
    return kept(curve)[int(distance.argmin())] if distance.min() <= 0.1 else None


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first minus second with a 95 % interval, taking the two as independent."""
    value = first.value - second.value
    down = float(numpy.hypot(first.value - first.low, second.high - second.value))
    up = float(numpy.hypot(first.high - first.value, second.value - second.low))
    return Estimate(value, value - down, value + up)


def estimate_in(rows: pandas.DataFrame, *columns: str) -> Estimate:
    """Return the first row's number with its interval, from `value`, `low`, `high` or other columns."""
    value, low, high = rows[list(columns or ("value", "low", "high"))].to_numpy(dtype=float)[0]
    return Estimate(float(value), float(low), float(high))
