"""What an update costs in every arm, against one of the baseline."""

import pandas

from headroom.claims.arm_effects import ratios
from headroom.claims.entries import threshold
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import count, estimate, listing, number, plural
from headroom.core.statistics import Estimate, median_of
from headroom.report.exhibits import Column, Exhibit, Row, Table, table_of
from headroom.report.figures import arms as figures

OUTLYING = 3.0
"""Rounds further from the middle half of an arm's rounds than this many times its width are not drawn."""


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no update was timed."""
    timed = list(dict.fromkeys(tables.update_cost["arm"]))
    if len(timed) < 2:
        return None
    reference = timed[0]
    rounds = {arm: ratios(tables, arm, reference) for arm in timed[1:]}
    medians = {arm: median_of(own.to_numpy()) for arm, own in rounds.items()}
    label = f"time of an update / {reference}’s"
    typical = {arm: own[_is_typical(own)] for arm, own in rounds.items()}
    drawn = figures.Dots(medians, {arm: list(own) for arm, own in typical.items()})
    panel = figures.dots([drawn], tables.arm_names, name="repulsion-cost", label=label, line=1)
    finding = _finding(medians, reference)
    return Exhibit(
        name="update_cost",
        rows=(Row("", (panel,)),),
        alt=finding,
        shows=finding,
        how="One update of every arm in turn on the same batches: a faint dot is a round, the mark the median with its"
        f" 95 % interval from order statistics. Lower is cheaper; up to {threshold('R6', 'negligible'):g} counts as"
        f" next to nothing (R6).{_left_out(rounds, typical)}",
        tables=(_table(medians, rounds, reference),),
    )


def _is_typical(rounds: "pandas.Series[float]") -> "pandas.Series[bool]":
    """Return which rounds the machine did not disturb so much that the axis would show nothing else."""
    low, high = rounds.quantile(0.25), rounds.quantile(0.75)
    room = OUTLYING * (high - low)
    return rounds.between(low - room, high + room)


def _left_out(rounds: "dict[str, pandas.Series[float]]", typical: "dict[str, pandas.Series[float]]") -> str:
    missing = [value for arm, own in rounds.items() for value in own.drop(typical[arm].index)]
    if not missing:
        return ""
    ends = " to ".join(dict.fromkeys(number(value) for value in (min(missing), max(missing))))
    return f" Not drawn: {plural(len(missing), 'outlying round')} ({ends} times), which the medians count."


def _finding(medians: dict[str, Estimate], reference: str) -> str:
    parts = listing(f"{estimate(*one)} ({arm})" for arm, one in medians.items())
    return f"An update takes this many times as long as one of {reference}: {parts}."


def _table(medians: dict[str, Estimate], rounds: "dict[str, pandas.Series[float]]", reference: str) -> Table:
    records = [
        {"arm": arm, "rounds": len(rounds[arm]), **one._asdict(), "shown": estimate(*one)}
        for arm, one in medians.items()
    ]
    columns = [
        Column("arm", "arm", numeric=False),
        Column("shown", f"time / {reference}’s [95 % interval]"),
        Column("rounds", "rounds", count),
    ]
    return table_of(pandas.DataFrame(records), columns, caption="time of an update", filename="update-cost.csv")
