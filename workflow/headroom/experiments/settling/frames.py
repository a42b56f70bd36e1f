"""How heads settle, as rows: ranks against those of the last epoch, and the curves of every epoch, with the paper's."""

import pandas

from headroom.figures.views import PUBLISHED, published
from headroom.study.selection import main_gradient, main_metric, main_run, main_set, measurable, rows_where, with_shares
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

ALL = "all heads"
"""What heads of all kinds together are called."""

SHARES = (20, 40, 50, 60, 80)
"""The shares of heads removed (%) that the paper has."""

NEAR = 5
"""How near to a share a step has to be."""


def select_settling(view: StudyTables) -> pandas.DataFrame:
    """Return how the scores of the run shown first agree with those of its last epoch, by the main criterion."""
    rows = rows_where(view.settling, run=main_run(view.settling, view))
    criterion, normalised = main_gradient(rows.assign(order=rows["criterion"], ranking="fixed"))
    rows = rows_where(rows, criterion=criterion, normalised=normalised)
    if rows["kind"].nunique() == 2:  # a single kind and all: the same heads
        rows = rows_where(rows, kind="all")
    return rows.assign(task=view.task, kind=rows["kind"].replace("all", ALL))


def build_epoch_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of every epoch of the run shown first whose full model scores enough for a percentage."""
    rows = rows_where(view.pruning_epochs, run=main_run(view.pruning_epochs, view), scope="all")
    criterion, normalised = main_gradient(rows)
    rows = rows_where(rows, order=criterion, normalised=normalised, metric=main_metric(rows))
    rows = with_shares(rows_where(rows, set=main_set(rows)))
    rows = rows.assign(task=view.task, done=100 * rows["epoch"] / rows["epoch"].max())
    return rows.loc[
        measurable(rows), ["task", "run", "epoch", "done", "heads_removed", "share", "metric", "value", "full", "kept"]
    ]


def select_near(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return the steps of curves of every epoch near the paper's shares of heads removed (`nearest`)."""
    return pandas.concat(curves[(curves["share"] - share).abs() < NEAR].assign(nearest=share) for share in SHARES)


def list_paper_epochs(task: str, kind: TaskKind) -> pandas.DataFrame:
    """Return the paper's curves of every epoch as rows like ours; none of tasks that it did not prune so."""
    epochs = PUBLISHED["settling_epochs"]
    found = [
        {"epoch": epoch, "done": 100 * epoch / epochs[-1], "share": share, "kept": kept}
        for share, values in published("settling", kind).items()
        for epoch, kept in zip(epochs, values, strict=True)
    ]
    return pandas.DataFrame(found, columns=["epoch", "done", "share", "kept"]).assign(task=task, run="paper")


def tabulate_epochs(near: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per run and epoch, with the score of the full model and a column per share of heads removed."""
    made = []
    for place, own in near.groupby(["task", "run"], sort=False):
        task, run = map(str, place)
        wide = own.pivot_table(index="epoch", columns="nearest", values="kept")
        wide = wide.rename(columns=lambda share: f"{share} %").join(own.groupby("epoch")["full"].first())
        made.append(wide.reset_index().assign(task=task, run=run))
    return pandas.concat(made)
