"""What training does to importance (Michel et al. 2019, section 6)."""

import math

import pandas

from headroom.claims.chance import measurable
from headroom.claims.evidence import difference, estimate_in, main_curve, point_at, preferred, readings
from headroom.claims.selection import main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number, Reading, above, all_of


def late_plateau(tables: StudyTables, *, plateau: float, removed: float) -> list[Reading]:
    """Decide whether the last epoch keeps a plateau of the score that the first does not.

    Args:
        tables: The tables of one task.
        plateau: The share of the score that the last epoch has to keep.
        removed: The share of heads that is removed.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        rows = rows_where(rows, metric=main_metric(rows))
        large = rows[measurable(rows)]
        epochs = sorted(large["epoch"].unique())
        if len(epochs) < 2 or epochs[-1] != rows["epoch"].max():
            return None
        ends = (epochs[0], epochs[-1])
        first, last = (point_at(main_curve(rows_where(large, epoch=epoch)), removed) for epoch in ends)
        if first is None or last is None:
            return None
        verdict = all_of(above(last, plateau), above(difference(last, first), 0.0))
        named = (("last", last, epochs[-1]), ("first", first, epochs[0]))
        numbers = (Number(name, found, "share", about={"epoch": float(epoch)}) for name, found, epoch in named)
        return Reading(verdict, tuple(numbers))

    return readings(tables, "pruning_epochs", read, shares=True)


def settles_early(tables: StudyTables, *, early: float, settled: float) -> list[Reading]:
    """Decide whether heads rank early in training as they do at its end.

    Args:
        tables: The tables of one task.
        early: The share of training after which ranks are compared with those of the last epoch.
        settled: The rank correlation that is asked for.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        rows = preferred(rows_where(rows, kind="all"), "criterion")
        last = _last_epoch(rows)
        ranks = rows_where(rows, statistic="spearman")
        after = ranks[(ranks["epoch"] >= math.ceil(early * last)) & (ranks["epoch"] < last)]
        if after.empty:
            return None
        epoch = int(after["epoch"].min())
        found = estimate_in(rows_where(after, epoch=epoch))
        numbers = [Number("spearman", found, about={"epoch": epoch, "last": last})]
        common = rows_where(rows, statistic="overlap", epoch=epoch).sort_values("k")
        if len(common):
            about = {name: float(common[name].iloc[0]) for name in ("k", "chance")}
            numbers.append(Number("top", estimate_in(common), "share", about=about))
        return Reading(above(found, settled), tuple(numbers))

    return readings(tables, "settling", read)


def _last_epoch(rows: pandas.DataFrame) -> int:
    """Return the epoch that all others are compared with, as the signature tells; it has no rows itself."""
    told = rows["signature"].str.extract(r"last-epoch:(\d+)")[0].dropna()
    return int(told.iloc[0]) if len(told) else int(rows["epoch"].max()) if len(rows) else 0
