"""Files, mirror and criteria that a study names but that do not exist. Checked before any job runs."""

import os
from collections.abc import Callable, Iterator

from headroom.experiments.bakeoff.experiment import lacking_to_compare
from headroom.experiments.bakeoff.settings import RetrainingSettings
from headroom.experiments.pruning.experiment import order_tables
from headroom.methods.criteria import check, check_compared, criteria, find_family
from headroom.settings.study import Study
from headroom.settings.tasks import TranslationSettings
from headroom.study.plan import Plan


def missing_mirror(study: Study) -> list[str]:
    """Return a line if the mirror is a directory that does not exist: files are downloaded then."""
    mirror = study.mirror
    if not mirror or "://" in mirror or os.path.isdir(mirror):
        return []
    return [f"key mirror: no directory {mirror} in {os.getcwd()}; downloading instead"]


def missing_files(study: Study) -> list[str]:
    """Return a line for every file or directory that the configuration names and that does not exist."""
    return [
        f"configuration: {key}: no {what} {path} in {os.getcwd()}; correct the path"
        for key, path, what, exists in _list_named_files(study)
        if not exists(path)
    ]


def _list_named_files(study: Study) -> Iterator[tuple[str, str, str, Callable[[str], bool]]]:
    for name, task in study.tasks.items():
        place = study.place(name)
        for key, path in task.corpus.paths.items() if task.corpus.source == "files" else ():
            yield f"{place}.corpus.{key}", path, "file", os.path.isfile
        if own := getattr(getattr(task, "encoder", None), "path", None):
            yield f"{place}.encoder.path", own, "directory", os.path.isdir
        if task.released and task.released.path:
            packed = isinstance(task, TranslationSettings)
            kind, exists = ("directory or archive", os.path.exists) if packed else ("directory", os.path.isdir)
            yield f"{place}.released.path", task.released.path, kind, exists
        if task.treebank.source == "files":
            yield f"{place}.treebank.path", task.treebank.path, "file", os.path.isfile


def wrong_criteria(plan: Plan) -> list[str]:
    """Return a line for every criterion that the configuration names and that a task does not have."""
    found: list[str] = []
    for name, task in plan.study.tasks.items():
        found += check(plan.study.place(name), task.pruning.criteria, task.pruning.main)
        compared = task.bakeoff.criteria, task.bakeoff.rescored
        found += check_compared(plan.study.place(name), *compared, lacking_to_compare(plan, name))
        found += _wrong_layouts(plan.study.place(name), task.bakeoff.retraining)
    if found:
        return found
    lacking = {
        (plan.runs[run].task, table): run
        for run in plan.detailed
        for table, paths in order_tables(plan, run).items()
        if not paths
    }
    return [
        f"configuration: pruning.criteria of {task}: {run} has no table {table}; leave its criterion out"
        for (task, table), run in lacking.items()
    ]


def _wrong_layouts(place: str, settings: RetrainingSettings) -> list[str]:
    """Return a line if layouts are chosen by a known criterion that is not scored to be compared."""
    if not settings.updates or settings.criterion not in criteria() or find_family(settings.criterion):
        return []
    return [
        f"configuration: {place}.bakeoff.retraining.criterion: another experiment scores '{settings.criterion}'; "
        "choose a criterion that is scored to be compared, e.g. gradient-example"
    ]
