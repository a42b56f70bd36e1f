"""Do the ways to score heads agree? Rank correlations, compared with the bound set by noise."""

import pandas

from headroom.core.heads import KINDS
from headroom.figures import palette, panels
from headroom.figures.names import choose_folded_runs, run_name
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, label, lead, section_of
from headroom.study.selection import in_order, last_epochs, main_run, rows_where
from headroom.study.tables import StudyTables

NAMES = {
    "gradient-example": "gradient, example",
    "gradient-token": "gradient, token",
    "ablation": "ablation",
    "confidence": "confidence",
    "relevance": "relevance",
    "gates": "gates",
    "gates-exact": "exact K",
    "gates-exact-straight-through": "straight-through",
}
"""Criteria in the order of the matrix, in short; others follow."""

WIDTH = 318.0


@section_of("rank_correlation", "Do the criteria agree?", "rank_correlation")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about the agreement of criteria."""
    first, more, rows = list[Panel](), list[Panel](), list[pandas.DataFrame]()
    for task, view in views.items():
        every = _pairs(view)
        run = main_run(every, view)
        rows.append(rows_where(every, run=run))
        others = [other for other in view.runs if other != run and other in set(every["run"])]
        for place, scope in enumerate(_scopes(rows[-1])):
            title = "" if scope == "all" else f"{scope} {palette.KIND_NAMES[scope]}"
            (more if place else first).append(_panel(rows[-1], scope, label(study, task, title)))
        for other in choose_folded_runs(others):
            more.append(_panel(rows_where(every, run=other), _scopes(rows[-1])[0], label(study, task, run_name(other))))
    frame = pandas.concat(rows)
    folds = [Fold("All correlations, with ceilings", tables=(_table(frame, study),))]
    if more:
        by_kind = Figure("criteria_more", tuple(more), words("rank_correlation", "alt"))
        folds.append(Fold("By kind of attention, and other runs", by_kind))
    folds.append(Fold("Method", text=words("rank_correlation", "method")))
    figure = Figure("criteria", tuple(first), *texts("rank_correlation"), frame=frame)
    return Parts(figure, folds)


def _pairs(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's correlations of all runs, over all heads and over those of a kind."""
    rows = rows_where(last_epochs(view.rank_correlation), statistic="spearman")
    return rows[rows["scope"].isin(["all", *KINDS])].assign(task=view.task)


def _scopes(rows: pandas.DataFrame) -> list[str]:
    """Return all heads, and each kind of attention where there are several."""
    present = in_order(rows["scope"], ("all", *KINDS))
    return present[:1] if len(present) == 2 and present[0] == "all" else present


def triangle(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the correlations as a matrix, each pair below the diagonal; criteria are numbered, rows named, too."""
    names = in_order([*rows["first"], *rows["second"]], NAMES)
    made = pandas.DataFrame(float("nan"), index=names, columns=names)
    for first, second, value in rows[["first", "second", "value"]].itertuples(index=False):
        upper, lower = sorted((first, second), key=names.index)
        made.loc[lower, upper] = value
    made.columns = pandas.Index([f"{place}" for place in range(1, len(names) + 1)])
    made.index = pandas.Index([f"{name_criterion(name)} {place}" for place, name in enumerate(names, start=1)])
    return made.iloc[:, :-1]


def _panel(rows: pandas.DataFrame, scope: str, title: str) -> Panel:
    task, run = rows[["task", "run"]].iloc[0]
    colour = palette.KIND_COLOURS.get(scope, palette.INK)
    name = f"criteria-{run}-{scope}".replace(".", "-")
    drawing = panels.matrix(triangle(rows_where(rows, scope=scope)), name=name, colour=colour, width=WIDTH)
    return Panel(drawing, title, task=task)


def name_criterion(criterion: str) -> str:
    """Return a criterion as readers should see it."""
    return NAMES.get(criterion, criterion)


def _table(frame: pandas.DataFrame, study: StudyTables) -> Table:
    named = frame.assign(first=frame["first"].map(name_criterion), second=frame["second"].map(name_criterion))
    named = named.rename(columns={"value": "spearman"})
    columns = [*lead(study), "scope", "first", "second", "spearman ~", "ceiling", "heads"]
    headings = {"scope": "heads of", "first": "criterion", "second": "with", "spearman": "Spearman"}
    return Table("criteria", named, columns, headings)
