"""What training came to: the score of its last epoch, and whether its loss has settled."""

from collections.abc import Iterator

from headroom.claims.evidence import by_run, estimate_in
from headroom.claims.verdict import Number, Reading, mean_over_runs
from headroom.study.selection import last_epochs, main_set, rows_where
from headroom.study.tables import StudyTables


def quality(tables: StudyTables) -> Iterator[Reading]:
    """Yield what the last epoch of the baseline scores; the parts are the metrics, the main one first."""
    rows = last_epochs(tables.evaluation)
    rows = rows_where(rows, set=main_set(rows)) if len(rows) else rows
    for metric, own in rows.groupby("metric", sort=False):
        if found := [estimate_in(one) for one in by_run(own, tables)]:
            yield Reading((Number("quality", mean_over_runs(found)),), part=str(metric))


def loss_settled(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether the loss on the validation set falls by less than the share `most` in the last epoch."""
    losses = rows_where(tables.training, run=run, measure="valid_loss").sort_values("epoch")["value"]
    if len(losses) < 2:
        return "its loss is not known"
    fall = 1 - float(losses.iloc[-1] / losses.iloc[-2])
    return "" if fall < most else f"it falls by {100 * fall:.3g} %"
