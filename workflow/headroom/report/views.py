"""The tasks of a study in one section: which have rows, what their panels are called, which are lacking."""

from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import listing
from headroom.report.prose import words
from headroom.report.tasks import heading, task_name


def views_with(study: StudyTables, *tables: str) -> dict[str, StudyTables]:
    """Return the tables of every task that has rows in one of these tables, by task."""
    views = {task: study.of_task(task) for task in study.tasks}
    return {task: view for task, view in views.items() if any(view.has(name) for name in tables)}


def label(study: StudyTables, task: str, what: str = "") -> str:
    """Return the label of a panel: the task in a study of several, and what is special about the panel."""
    return ": ".join(filter(None, [heading(task) if len(study.tasks) > 1 else "", what]))


def lacking(study: StudyTables, views: dict[str, StudyTables]) -> tuple[str, ...]:
    """Return a remark that names the tasks that are not among these views; none if all are."""
    without = [task_name(task) for task in study.tasks if task not in views]
    return (words("shared", "lacking", tasks=listing(without)),) if without else ()
