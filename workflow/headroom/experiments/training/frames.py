"""Trainings as rows: scores of runs and of arms, losses of every epoch, and what training came to."""

from collections.abc import Collection

import pandas

from headroom.core.statistics import estimate_mean
from headroom.experiments.arms.paired import scores_by_seed
from headroom.study.selection import last_epochs, main_metric, main_set, rows_where
from headroom.study.tables import StudyTables, arm_of


def select_scores(view: StudyTables) -> pandas.DataFrame:
    """Return the scores of the runs of one task, in their order, in the main metric on the main set."""
    rows = rows_where(view.evaluation, metric=main_metric(view.evaluation))
    rows = rows_where(rows, set=main_set(rows)).sort_values("run", key=lambda run: run.map(view.runs.index))
    rows = rows.assign(task=view.task, arm=rows["run"].map(arm_of))
    return rows[["task", "run", "arm", "epoch", "set", "metric", "value", "low", "high"]]


def gather_arms(rows: pandas.DataFrame, view: StudyTables) -> pandas.DataFrame:
    """Return runs as single dots of a row per arm, and the means over seeds."""
    found = {arm: estimate_mean(own.to_numpy()) for arm, own in scores_by_seed(view).items()}
    means = [{"arm": arm, "single": False} | one._asdict() for arm, one in found.items()]
    single = rows["arm"].isin([one["arm"] for one in means])
    every = pandas.concat([rows.assign(single=single), pandas.DataFrame(means)], ignore_index=True)
    return every.assign(name=every["arm"])


def select_losses(view: StudyTables, measures: Collection[str]) -> pandas.DataFrame:
    """Return these measures of one task in every epoch."""
    rows = view.training[view.training["measure"].isin(measures)].drop(columns="signature")
    return rows.assign(task=view.task, arm=rows["run"].map(arm_of))


def tabulate_training(view: StudyTables) -> pandas.DataFrame:
    """Return what training came to: a row per run, a column per measure of the last epoch, and the seconds in all."""
    wide = last_epochs(view.training).pivot_table(index="run", columns="measure", values="value", sort=False)
    seconds = rows_where(view.training, measure="seconds").groupby("run")["value"].sum()
    return wide.assign(total_seconds=seconds, task=view.task).reset_index()
