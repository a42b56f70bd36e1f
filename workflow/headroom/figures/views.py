"""What sections share: the tasks of a study, their panels side by side, and the values that the papers published."""

from collections.abc import Callable

import pandas
from markupsafe import Markup

from headroom.claims.entries import read_papers
from headroom.core.formatting import listing
from headroom.figures.names import heading, task_name
from headroom.figures.prose import words
from headroom.figures.spec import Panel
from headroom.study.tables import StudyTables

PUBLISHED = {name: value for paper in read_papers() for name, value in paper.values.items()}
"""By name the values of figures and tables, as the YAML of the papers describes them."""


def views_with(study: StudyTables, *tables: str) -> dict[str, StudyTables]:
    """Return the tables of every task that has rows in one of these tables, by task."""
    views = {task: study.of_task(task) for task in study.tasks}
    return {task: view for task, view in views.items() if any(view.has(name) for name in tables)}


def label(study: StudyTables, task: str, what: str = "") -> str:
    """Return the label of a panel: the task in a study of several, and what is special about the panel."""
    return ": ".join(filter(None, [heading(task) if len(study.tasks) > 1 else "", what]))


def lead(study: StudyTables) -> list[str]:
    """Return the columns that tables begin with: the task in a study of several."""
    return ["task"] if len(study.tasks) > 1 else []


def lacking(study: StudyTables, views: dict[str, StudyTables]) -> tuple[str, ...]:
    """Return a remark that names the tasks that are not among these views; none if all are."""
    without = [task_name(task) for task in study.tasks if task not in views]
    return (words("shared", "lacking", tasks=listing(without)),) if without else ()


def build_panels(
    study: StudyTables,
    frame: pandas.DataFrame,
    draw: Callable[[str, pandas.DataFrame], Markup],
    title: Callable[[pandas.DataFrame], str] = lambda _: "",
) -> tuple[Panel, ...]:
    """Return a panel per task of a frame, which `draw` draws from its rows; `title` is what its label says of these."""
    tasks = ((str(task), own) for task, own in frame.groupby("task", sort=False))
    return tuple(Panel(draw(task, own), label(study, task, title(own)), task=task) for task, own in tasks)
