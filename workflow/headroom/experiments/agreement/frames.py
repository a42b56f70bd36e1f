"""Agreement as rows: of effects on two sets, of criteria, of the scores and curves of every epoch, with the paper's."""

import pandas

from headroom.core.formatting import MISSING, format_fixed
from headroom.core.heads import KINDS
from headroom.experiments.ablation.frames import select_effects
from headroom.figures.views import PUBLISHED, published
from headroom.methods.criteria import REFERENCE
from headroom.study.selection import (
    in_percent,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    measurable,
    rows_where,
    with_shares,
)
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

ALL = "all heads"
"""What heads of all kinds together are called."""

SHARES = (20, 40, 50, 60, 80)
"""The shares of heads removed (%) that the paper has."""

NEAR = 5
"""How near to a share a step has to be."""


def agreements(view: StudyTables) -> pandas.DataFrame:
    """Return the agreement of the run that is shown first, in the main metric.

    Its first pair of sets (`first`) is that of two domains; the paper's values (`paper`), if it has any for the task,
    are for comparison.
    """
    rows = last_epochs(rows_where(view.agreement, between="set"))
    if rows.empty:
        return rows
    rows = rows_where(rows, run=main_run(rows, view), of=rows["of"].iloc[0]).assign(task=view.task)
    sets = rows[["a", "b"]]
    rows = rows.assign(first=(sets == sets.iloc[0]).all(axis=1))
    known, numbers = paper_values(view.kind), rows["k"].fillna(rows["dropped"])
    if not known:
        return rows
    beside = rows["first"] & rows["kind"].eq("all")
    theirs = [known.get(key, MISSING) for key in zip(rows["statistic"], numbers, strict=True)]
    return rows.assign(paper=pandas.Series(theirs, rows.index).where(beside, MISSING))


def paper_values(kind: TaskKind) -> dict[tuple[str, float], str]:
    """Return the paper's agreement by statistic and number of heads left out, or of overlaps by number of heads.

    It has none for some kinds of task.
    """
    if not (values := published("agreement", kind)):
        return {}
    pearson, spearman, without, common = values
    found: dict[tuple[str, float], str] = {("pearson", 0.0): pearson, ("spearman", 0.0): spearman}
    found |= {("pearson", dropped): text for dropped, text in zip((1, 2, 5, 10), without.split(", "), strict=True)}
    shared = zip((5, 10, 20), common.split(", "), strict=True)
    return found | {("overlap", k): format_fixed(float(text.split()[0]) / k) for k, text in shared}


def pair_effects(view: StudyTables, rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the effect of every head on the first pair of sets, in % of the score; no rows if one was not run."""
    if not view.has("ablation"):
        return pandas.DataFrame()
    run, *sets = rows[["run", "a", "b"]].iloc[0]
    every = in_percent(rows_where(select_effects(view), run=run))
    first, second = (rows_where(every, set=name) for name in sets)
    made = first.merge(second, on=["task", "run", "kind", "layer", "head"], suffixes=("_a", "_b"))
    made = made.rename(columns={"delta_a": "first", "delta_b": "second"})
    return made[["task", "run", "kind", "layer", "head", "set_a", "first", "set_b", "second"]].dropna()


def pair_correlations(rows: pandas.DataFrame, kind: TaskKind) -> pandas.DataFrame:
    """Return both correlations of one task's first pair of sets over all heads, and Pearson's of the paper."""
    ours = rows[rows["first"] & rows["kind"].eq("all") & rows["statistic"].ne("overlap")]
    task = rows["task"].iloc[0]
    values = paper_values(kind)
    known = [(number, text) for (name, number), text in values.items() if name == "pearson"]
    paper = {"dropped": [int(number) for number, _ in known], "value": [float(text.split()[0]) for _, text in known]}
    return pandas.concat([ours, pandas.DataFrame(paper).assign(task=task, run="paper", statistic="paper")])


def select_criteria(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's correlations of criteria of all runs, over all heads and over those of a kind.

    Those of the comparison of criteria are shown there.
    """
    rows = last_epochs(rows_where(view.agreement, between="criterion"))
    return rows[rows["kind"].isin(["all", *KINDS]) & rows["b"].ne(REFERENCE)].assign(task=view.task)


def select_epochs(view: StudyTables) -> pandas.DataFrame:
    """Return how the scores of the run shown first agree with those of its last epoch, by the main criterion."""
    rows = rows_where(view.agreement, between="epoch")
    if rows.empty:
        return rows
    rows = rows_where(rows, run=main_run(rows, view))
    criterion, normalised = main_gradient(rows.assign(order=rows["of"], ranking="fixed"))
    rows = rows_where(rows, of=criterion, normalised=normalised)
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
