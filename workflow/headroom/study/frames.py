"""Frames that sections of the page draw: a task's rows of the run that is shown first, in the units of the page."""

from collections.abc import Collection

import pandas

from headroom.study.selection import (
    arm_rows,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    measurable,
    parse_heads,
    rows_where,
    select_judged,
    with_scale,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of

PAIRS_FROM = 6
"""From so many layers on, layers are shown in pairs, as in the paper."""

ALL = "all heads"
"""What heads of all kinds together are called."""

WAY = ["order", "ranking", "repair"]
"""The columns that tell curves of the comparison of criteria apart."""

REPLACED_COLUMNS = [
    *("task", "run", "replacement", "order", "normalised", "heads_removed", "heads_total", "share", "metric"),
    *("value", "full", "kept"),
]
"""The columns of curves by what replaces removed heads."""


def select_effects(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's rows of `ablation` in the main metric, of one task, with the columns task and name."""
    rows = last_epochs(view.ablation)
    rows = rows_where(rows, metric=main_metric(rows))
    return rows.assign(task=view.task, name=[str(head) for head in parse_heads(rows)])


def select_main_effects(view: StudyTables) -> pandas.DataFrame:
    """Return those of the run that is shown first, on the set that heads are judged on."""
    rows = select_effects(view)
    return rows_where(rows, run=main_run(rows, view), set=main_set(rows))


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


def build_replaced_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of one task by its main order, all heads together, for every replacement; of the first run."""
    every = view.every("pruning")
    if every["replacement"].nunique() < 2:
        return pandas.DataFrame()
    rows = rows_where(select_judged(every), run=main_run(every, view), scope="all", ranking="fixed")
    order, normalised = main_gradient(rows)
    return with_shares(rows_where(rows, order=order, normalised=normalised)).assign(task=view.task)[REPLACED_COLUMNS]


def pair_effects(view: StudyTables, rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the effect of every head on the first pair of sets, in % of the score; no rows if one was not run."""
    if not view.has("ablation"):
        return pandas.DataFrame()
    run, *sets = rows[["run", "set_a", "set_b"]].iloc[0]
    every = in_percent(rows_where(select_effects(view), run=run))
    first, second = (rows_where(every, set=name) for name in sets)
    made = first.merge(second, on=["task", "run", "kind", "layer", "head"], suffixes=("_a", "_b"))
    made = made.rename(columns={"delta_a": "first", "delta_b": "second"})
    return made[["task", "run", "kind", "layer", "head", "set_a", "first", "set_b", "second"]].dropna()


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


def build_share_curves(view: StudyTables, runs: Collection[str], scopes: Collection[str]) -> pandas.DataFrame:
    """Return what runs keep of the score (`score`, %) by the share of heads kept (%), by the main order, by scope."""
    rows = select_judged(view.pruning[view.pruning["run"].isin(runs) & view.pruning["scope"].isin(scopes)])
    if rows.empty:
        return rows
    order, normalised = main_gradient(rows)
    rows = with_shares(rows_where(rows, order=order, normalised=normalised, ranking="fixed"))
    return rows[["scope", "run"]].assign(share=100 - rows["share"], score=rows["kept"])


def score_pruned_models(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of `pruned_models` with the `share` of heads kept and the `score` with its interval, in %."""
    rows = with_scale(rows)
    rows = rows.assign(share=100 * rows["kept"] / rows["heads"], scale=rows["scale"].where(rows["scale"] > 0))
    ends = {end: 100 + 100 * rows[end] / rows["scale"] for end in ("low", "high")}
    return rows.assign(score=100 * (rows["value"] - rows["chance"]) / rows["scale"], **ends)


def layer_groups(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of one kind with the column `group`: the layer, or from six layers on its pair of layers."""
    layers = rows["layer"].astype(int)
    if layers.max() < PAIRS_FROM:
        return rows.assign(group=[f"{kind}{layer}" for kind, layer in zip(rows["kind"], layers)])
    first = layers - (layers - 1) % 2
    return rows.assign(group=[f"{kind}{low}–{low + 1}" for kind, low in zip(rows["kind"], first)])


def compute_kept_shares(rows: pandas.DataFrame, every: pandas.DataFrame | None = None) -> pandas.DataFrame:
    """Return the share of each group kept (%) at each setting, by the share of all heads removed (%).

    Args:
        rows: Rows of `gates` with the column `group`.
        every: Rows of all heads, to count those removed; default the same.
    """
    total = 100 * (1 - (rows if every is None else every).groupby("setting")["kept"].mean())
    shares = 100 * rows.groupby(["group", "setting"], sort=False)["kept"].mean()
    found = shares.reset_index().assign(removed=lambda frame: frame["setting"].map(total))
    return found.sort_values(["removed", "setting"], kind="stable").reset_index(drop=True)
