"""What an update costs in every arm, against one of the baseline."""

import pandas

from headroom.report.claims.update_cost import NEGLIGIBLE, median_of, ratios
from headroom.report.claims.verdict import Estimate
from headroom.report.exhibits import Column, Exhibit, Row, Table, table_of
from headroom.report.figures import arms as figures
from headroom.report.formatting import estimate, listing, number
from headroom.report.study_tables import StudyTables


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no update was timed."""
    timed = list(dict.fromkeys(tables.update_cost["arm"]))
    if len(timed) < 2:
        return None
    reference = timed[0]
    rounds = {arm: ratios(tables, arm, reference) for arm in timed[1:]}
    medians = {arm: median_of(own) for arm, own in rounds.items()}
    label = f"time of an update / {reference}’s"
    drawn = figures.Dots(medians, {arm: list(own) for arm, own in rounds.items()})
    panel = figures.dots([drawn], tables.arms, name="repulsion-cost", label=label, line=1)
    finding = _finding(medians, reference)
    return Exhibit(
        name="update_cost",
        rows=(Row("", (panel,)),),
        alt=finding,
        shows=finding,
        how="One update of every arm in turn on the same batches: a faint dot is a round, the mark the median with its"
        f" 95 % interval from order statistics. Lower is cheaper; up to {NEGLIGIBLE} counts as next to nothing"
        " (R6).",
        tables=(_table(medians, rounds, reference),),
    )


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
        Column("rounds", "rounds", number),
    ]
    return table_of(pandas.DataFrame(records), columns, caption="time of an update", filename="update-cost.csv")
