"""Agreement between sets as rows: effects on both, correlations and overlaps, with the paper's."""

import pandas

from headroom.core.formatting import MISSING, format_fixed
from headroom.experiments.ablation.frames import select_effects
from headroom.figures.views import published
from headroom.study.selection import in_percent, last_epochs, main_metric, main_run, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind


def agreements(view: StudyTables) -> pandas.DataFrame:
    """Return the agreement of the run that is shown first, in the main metric.

    Its first pair of sets (`first`) is that of two domains; the paper's values (`paper`), if it has any for the task,
    are for comparison.
    """
    rows = last_epochs(view.agreement)
    rows = rows_where(rows, run=main_run(rows, view), metric=main_metric(rows)).assign(task=view.task)
    sets = rows[["set_a", "set_b"]]
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
    run, *sets = rows[["run", "set_a", "set_b"]].iloc[0]
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
