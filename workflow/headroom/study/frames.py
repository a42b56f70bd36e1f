"""Frames that sections of the page draw: a task's rows of the run that is shown first, in the units of the page."""

import pandas

from headroom.study.selection import (
    arm_rows,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    measurable,
    rows_where,
    select_judged,
    with_scale,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of

ALL = "all heads"
"""What heads of all kinds together are called."""

WAY = ["order", "ranking", "repair"]
"""The columns that tell curves of the comparison of criteria apart."""


def in_percent(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with `delta`, `low` and `high` in % of the full model's score, less chance."""
    scale = with_scale(rows)["scale"]
    parts = rows[["delta", "low", "high"]].div(scale.where(scale > 0), axis=0)
    return rows.assign(**{str(name): 100 * part for name, part in parts.items()})


def build_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's curves of the arm of one task shown first, by the main metric on the main set.

    Added are the `share` of heads removed (%), and what is `kept` of the full model's score (%) with `low` and `high`.
    """
    rows = select_judged(view.pruning)
    rows = arm_rows(with_shares(rows), arm_of(main_run(rows, view))) if len(rows) else with_shares(rows)
    points = rows["scale"].where(rows["scale"] > 0) / 100
    ends = {end: rows["kept"] + (rows[end] - rows["delta"]) / points for end in ("low", "high")}
    return rows.assign(**ends, task=view.task)


def tabulate_checks(view: StudyTables) -> pandas.DataFrame:
    """Return a row per sliced model of one task, a column per check."""
    keys = ["run", "heads_removed", "removed"]
    rows = last_epochs(view.removal)
    wide = rows.pivot_table(index=keys, columns="check", values="value", sort=False).reset_index()
    checks = ["identical_outputs", "examples", "largest_logit_difference", "parameters_full", "parameters_sliced"]
    wide = wide.reindex(columns=[*keys, *checks])
    return wide.assign(task=view.task, saved=1 - wide["parameters_sliced"] / wide["parameters_full"])


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


def tabulate_orders(view: StudyTables) -> pandas.DataFrame:
    """Return a row per order, ranking and repair of a task, about all runs together, a column per statistic.

    The area and the difference from random orders have columns with the ends of their intervals.
    """
    rows = rows_where(view.bakeoff, run="")
    wide = rows.pivot(index=WAY, columns="statistic", values="value")
    for statistic in ("area", "over_random"):
        own = rows_where(rows, statistic=statistic).set_index(WAY)
        wide = wide.join(own[["low", "high"]].add_prefix(f"{statistic}_"))
    tested = rows_where(rows, statistic="over_random").set_index(WAY)["p"].rename("p_holm")
    found = wide.join(tested).reset_index()
    return found.assign(task=view.task).sort_values("area", ascending=False, kind="stable")


def build_layout_scores(view: StudyTables) -> pandas.DataFrame:
    """Return the layouts of a task before and after further training, with the share of the score kept, in %."""
    rows = with_shares(select_judged(view.bakeoff_retraining))
    return rows.assign(task=view.task, model=rows["run"] + " " + rows["draw"].astype(str))


def tabulate_training(view: StudyTables) -> pandas.DataFrame:
    """Return what training came to: a row per run, a column per measure of the last epoch, and the seconds in all."""
    wide = last_epochs(view.training).pivot_table(index="run", columns="measure", values="value", sort=False)
    seconds = rows_where(view.training, measure="seconds").groupby("run")["value"].sum()
    return wide.assign(total_seconds=seconds, task=view.task).reset_index()
