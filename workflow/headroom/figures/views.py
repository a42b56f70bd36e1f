"""What sections share: the tasks of a study, their panels side by side, and the values that the papers published."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import pandas
from markupsafe import Markup

from headroom.claims.entries import read_papers
from headroom.core.formatting import listing
from headroom.figures import palette
from headroom.figures.names import heading, task_name
from headroom.figures.panels import Look
from headroom.figures.prose import words
from headroom.figures.spec import Figure, Fold, Panel, Section
from headroom.study.tables import StudyTables
from headroom.study.task_info import TASKS, TaskInfo, TaskKind

PUBLISHED = {name: value for paper in read_papers() for name, value in paper.values.items()}
"""By name the values of figures and tables, as the YAML of the papers describes them."""


def views_with(study: StudyTables, *tables: str) -> dict[str, StudyTables]:
    """Return the tables of every task that has rows in one of these tables, by task."""
    return {task: view for task, view in study.views.items() if any(view.has(name) for name in tables)}


HERE = Look(palette.arm_colour("", []), marker="o")
LOOKS = {"here": HERE, "paper": Look(palette.INK, marker="D")}
"""The looks of numbers found here, and of those of a paper."""


class Parts(NamedTuple):
    """What a section consists of: its figure, its folds without those of experiments that were not run, its remarks."""

    figure: Figure | None
    folds: Sequence[Fold | None]
    remarks: Iterable[str] = ()


Views = dict[str, StudyTables]
"""By task the tables of the tasks that have an experiment."""

Build = Callable[[StudyTables, Views], Parts | None]
"""What builds a section of a study, in which some task has the experiment; None if there is nothing to show."""


def section_of(name: str, title: str, *tables: str) -> Callable[[Build], Callable[[StudyTables], Section]]:
    """Make a section of the function that builds it: its experiment has the name, and rows in one of the tables.

    It says which tasks lack the experiment, or that it was not run.
    """

    def declare(build: Build) -> Callable[[StudyTables], Section]:
        @wraps(build)
        def section(study: StudyTables) -> Section:
            views = views_with(study, *tables)
            parts = build(study, views) if views else None
            if parts is None:
                return Section(name, title, missing=words(name, "missing"))
            folds = tuple(fold for fold in parts.folds if fold)
            return Section(name, title, parts.figure, folds, (*lacking(study, views), *parts.remarks))

        return section

    return declare


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


def percent_label(info: TaskInfo, where: str = "") -> str:
    """Return the name of an axis of changes in % of the score, with the set they are on."""
    return f"change{where and f' on {where}'} (% of {info.score})"


def published(name: str, kind: TaskKind) -> Any:
    """Return the values of this name that a paper has for a kind of task; an empty mapping if it has none."""
    return PUBLISHED[name].get(kind, {})


def is_published(name: str, study: StudyTables, tasks: Iterable[str]) -> bool:
    """Return whether a paper has values of this name for the kind of one of these tasks."""
    return any(published(name, study.kind_of(task)) for task in tasks)


def paper_scale(kind: TaskKind) -> float:
    """Return the score of the first paper's full model, less its chance: the score without any head."""
    curve = PUBLISHED["curves"][kind]["gradient"]
    return curve[0] - (curve[-1] if TASKS[kind].above_chance else 0.0)
