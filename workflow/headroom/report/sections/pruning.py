"""Pruning curves: heads removed in steps, by several orders."""

import pandas

from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.core.formatting import listing
from headroom.report.names import run_name
from headroom.report.palette import Colour, arm_colour
from headroom.report.panels import Look
from headroom.report.prose import texts, words
from headroom.report.sections import curves, curves_alone
from headroom.report.sections.curves import ABLATION, MAIN, RANDOM
from headroom.report.spec import Figure, Fold, Panel, Section, Table
from headroom.report.tasks import heading
from headroom.report.views import label, lacking, views_with

TITLE = "Pruning curves"
_FURTHER = [(dash, marker) for marker in "s^Dvx" for dash in ("dashed", "dashdot", "dotted")]
"""The looks of further orders."""


def section(study: StudyTables) -> Section:
    """Return the section about removing more and more heads."""
    views = views_with(study, "pruning")
    if not views:
        return Section("pruning", TITLE, missing=words("pruning", "missing"))
    rows = pandas.concat([curves.of_task(view) for view in views.values()], ignore_index=True)
    alone = (curves_alone.kinds(rows), curves_alone.layers(rows, study))
    together = rows_where(rows, scope="all")
    figure, folds = None, []
    if len(together):
        colour = arm_colour(arm_of(together["run"].iloc[0]), study.arm_names)
        figure = _figure(together, colour)
        folds = [_steps(together), _orders(together, colour, study)]
    shown = tuple(fold for fold in (*folds, *alone) if fold)
    return Section("pruning", TITLE, figure, shown, lacking(study, views))


def _figure(rows: pandas.DataFrame, colour: Colour) -> Figure:
    frame = pandas.concat([rows, *(curves.paper_rows(task) for task in rows["task"].unique())])
    looks, limits, drawn = curves.looks(colour), curves.limits(frame), []
    for task, own in frame.groupby("task", sort=False):
        panel = curves.panel(own, looks, f"curves-{task}", limits)
        title = f"{heading(str(task))} (paper: {curves.drawn_data(str(task))})"
        drawn.append(Panel(panel, title, task=str(task)))
    return Figure("curves", tuple(drawn), *texts("pruning"), curves.keys(looks, frame), frame)


def _steps(rows: pandas.DataFrame) -> Fold:
    """Return every step of every order with the paper's curves, a table per task."""
    made = []
    for task, own in rows.groupby("task", sort=False):
        wide = curves.by_step(own)
        paper = curves.paper_curves(str(task))
        theirs = {
            f"{line} ({data})": curves.at_tenths(kept, list(wide["share"])) for (line, data), kept in paper.items()
        }
        others = [line for line in wide.columns[2:] if line != MAIN]
        names = {MAIN: curves.main_name(own)}
        columns = ["task", "share", MAIN, *theirs, *others]
        made.append(Table(f"curves-{task}", wide.assign(task=task, **theirs), columns, names, decimals=1))
    text = words("pruning", "method", runs=listing(dict.fromkeys(map(run_name, rows["run"]))))
    return Fold("every step of every order, and the paper’s", tables=tuple(made), text=text)


def _orders(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Fold | None:
    """Return the curves of further orders: ways of using the gradient and its reverse, and other criteria."""
    others = [line for line in dict.fromkeys(rows["line"]) if line not in (MAIN, ABLATION, RANDOM)]
    further = {line: Look(colour, *look) for line, look in zip(others, _FURTHER, strict=False)}
    by_gradient = [line for line in further if line.startswith(("gradient", "reverse"))]
    looks, limits = further | {MAIN: Look(colour, "", "o")}, curves.limits(rows)
    drawn = []
    criteria = [line for line in further if line not in by_gradient]
    for what, lines in (("gradients", by_gradient), ("criteria", criteria)):
        for task, own in rows[rows["line"].isin([*lines, MAIN, RANDOM])].groupby("task", sort=False):
            if set(lines) & set(own["line"]):
                bare = own.assign(low=own["low"].where(own["line"] == MAIN))
                panel = curves.panel(bare, looks, f"{what}-{task}", limits)
                drawn.append(Panel(panel, label(study, str(task)), task=str(task)))
    if not drawn:
        return None
    figure = Figure("curves_orders", tuple(drawn), *texts("pruning", "orders"), curves.keys(looks, rows))
    return Fold("other criteria and controls", figure)
