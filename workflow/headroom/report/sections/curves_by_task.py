"""Pruning curves of several tasks of classification side by side (the paper's figure 6)."""

import pandas

from headroom.claims.chance import with_shares
from headroom.claims.metrics import metric_word
from headroom.claims.selection import arm_rows, last_epochs, main_gradient, main_metric, main_run, main_set, rows_where
from headroom.claims.study_tables import StudyTables, arm_of, kind_of
from headroom.core.formatting import fixed, listing, number, percent
from headroom.report import palette
from headroom.report.exhibits import Exhibit, Key, Paper, Row, Table, grid_table
from headroom.report.figures import curves as figures
from headroom.report.figures.curves import GRADIENT, REVERSE, Curve, by_order
from headroom.report.keys import full_key, line_sample, mark_sample
from headroom.report.palette import arm_colour
from headroom.report.published import SHARES, SOURCES, TASK_CURVES
from headroom.report.sections.curve_tables import paper_kept, paper_rows
from headroom.report.tasks import heading, task_name, words_of


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return one panel per task; None with fewer than two tasks of classification."""
    found = {task: _rows(tables.of_task(task)) for task in tables.tasks}
    shown = {task: rows for task, rows in found.items() if len(rows)}
    if sum(kind_of(task) == "classification" for task in shown) < 2:
        return None
    finding = _finding(shown)
    return Exhibit(
        name="curves_by_task",
        rows=tuple(_panel(task, rows) for task, rows in shown.items()),
        key=(
            Key(line_sample(_COLOUR.variable, GRADIENT.dash, GRADIENT.marker), "here, gradient"),
            Key(mark_sample("band", "control"), "here, random"),
            Key(line_sample(palette.INK.variable, REVERSE.dash), "paper, gradient"),
            full_key(),
        ),
        alt=finding,
        shows=finding,
        how="The same pruning in every task (the paper’s figure 6): what is kept, of classifiers above the score"
        " without"
        " any head, when the least important heads of the whole model are removed. Dotted: the paper’s curve where it"
        " has the task.",
        tables=(_table(shown),),
        papers=(_paper(shown),),
    )


_COLOUR = arm_colour("baseline", ["baseline"])


def _rows(tables: StudyTables) -> pandas.DataFrame:
    """Return the curves of the arm shown first, all heads together."""
    rows = rows_where(last_epochs(tables.pruning), scope="all", metric=main_metric(tables.pruning))
    if rows.empty:
        return rows
    rows = rows_where(with_shares(rows), set=main_set(rows))
    return arm_rows(rows, arm_of(main_run(rows, tables)))


def _gradient(rows: pandas.DataFrame) -> pandas.DataFrame:
    return by_order(rows, *main_gradient(rows))


def _panel(task: str, rows: pandas.DataFrame) -> Row:
    drawn = [Curve(_gradient(rows), _COLOUR, GRADIENT)]
    if task in TASK_CURVES:
        drawn.insert(0, Curve(paper_rows(TASK_CURVES[task], kind_of(task)), palette.INK, REVERSE))
    random = rows_where(rows, order="random")
    label = words_of(task).kept
    panel = figures.curves(drawn, random, name=f"task-{task}", metric=label, full=[100.0], y="kept")
    paper = {"translation": " (paper: IWSLT)"}.get(task, "")
    return Row(f"{heading(task)}, {metric_word(str(rows['metric'].iloc[0]))}{paper}", (panel,))


def _kept_at(rows: pandas.DataFrame, share: float) -> float:
    own = _gradient(rows)
    return float(own[(own["share"] - share).abs() < 3]["kept"].mean())


def _finding(shown: dict[str, pandas.DataFrame]) -> str:
    parts = listing(f"{number(_kept_at(rows, 50), decimals=1)} % ({task_name(task)})" for task, rows in shown.items())
    return f"With half of all heads removed by gradient importance there is left {parts}."


def _table(shown: dict[str, pandas.DataFrame]) -> Table:
    cells = {}
    for task, rows in shown.items():
        mean = _gradient(rows).groupby("share")["value"].mean()
        for share, value in mean.reset_index().to_numpy():
            cells[percent(share / 100), heading(task)] = number(value, decimals=2)
    frame = pandas.concat([_gradient(rows) for rows in shown.values()]).drop(columns=["removed", "signature"])
    caption = "main metric after every step, gradient order"
    return grid_table(cells, corner="removed", caption=caption, frame=frame, filename="curves-by-task.csv")


def _paper(shown: dict[str, pandas.DataFrame]) -> Paper:
    made, known = [], [task for task in shown if task in TASK_CURVES]
    theirs = {task: paper_kept(TASK_CURVES[task], kind_of(task)) for task in known}
    for place, share in enumerate(SHARES):
        cells = []
        for task in known:
            cells += [fixed(theirs[task][place], 1), fixed(_kept_at(shown[task], share), 1)]
        made.append((percent(share / 100), *cells))
    headings = ("removed", *(f"{where}, {task_name(task)}" for task in known for where in ("paper", "here")))
    source = SOURCES["curves_by_task", "classification"]
    return Paper(caption="Kept, in % of the full model", headings=headings, rows=tuple(made), source=source)
