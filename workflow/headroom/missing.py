"""What a study needs but does not find: libraries, files, a mirror, criteria. Checked before any job runs."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from headroom.core.errors import HeadroomError, run
from headroom.data.beginnings import list_mistakes_of_corpus, list_mistakes_of_pairs, list_mistakes_of_trees
from headroom.experiments.bakeoff.declared import RetrainingSettings
from headroom.methods.criteria import check, check_compared, criteria, find_family
from headroom.models.weight_files import are_unnamed, list_mistakes, read_labels
from headroom.settings.documents import DocumentFiles
from headroom.settings.load import read_study
from headroom.settings.models import HubModelSettings, ReleasedModel
from headroom.settings.study import Study
from headroom.settings.tasks import LanguageSettings
from headroom.study.curves import lacking_to_compare, order_tables
from headroom.study.plan import Plan

BOUNDS = Path(__file__).parents[2] / "pyproject.toml"
"""The file of a clone that names the versions that were tried."""


def find_mistakes(plan: Plan, *, libraries: bool = False, files: bool = True) -> list[str]:
    """Return a line for everything for which a study cannot run.

    Args:
        plan: The plan of the study.
        libraries: Whether jobs run in the environment of this process, whose libraries are then checked.
        files: Whether the files that the configuration names are checked.
    """
    found = [*missing_parts(plan), *wrong_libraries()] if libraries else []
    return [*found, *(missing_files(plan.study) if files else []), *wrong_criteria(plan)]


def missing_parts(plan: Plan) -> list[str]:
    """Return a line if the study has models of fairseq and the environment of this process lacks it."""
    if "fairseq" not in parts_of(plan) or find_spec("fairseq"):
        return []
    return ["environment: the module 'fairseq' is missing; run `make study`, or `bash envs/create.sh fairseq`"]


def wrong_libraries(bounds: Path = BOUNDS) -> list[str]:
    """Return a line for each library of this process's environment that is missing or outside the bounds of a file.

    Args:
        bounds: The pyproject.toml of a clone; without one nothing is compared.
    """
    if not bounds.is_file():
        return []
    project = tomllib.loads(bounds.read_text(encoding="utf-8"))["project"]
    found = [_wrong_library(Requirement(text)) for text in project["dependencies"]]
    return [f"environment: {what}; run `make study`, or install that" for what in found if what]


def _wrong_library(wanted: Requirement) -> str:
    """Return what is wrong with the installed version of a library, "" if nothing is."""
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is missing, {wanted} is needed"
    fits = wanted.specifier.contains(version, prereleases=True)
    return "" if fits else f"{wanted.name} has version {version}, but {wanted} is needed (pyproject.toml)"


def parts_of(plan: Plan) -> list[str]:
    """Return the parts of .venv that a study needs besides the one for all studies."""
    return [part for part in ("fairseq",) if part in map(plan.environment_of, plan.study.tasks)]


def missing_mirror(study: Study) -> list[str]:
    """Return a line if the mirror is a directory that does not exist: files are downloaded then."""
    mirror = study.mirror
    if not mirror or "://" in mirror or os.path.isdir(mirror):
        return []
    return [f"key mirror: no directory {mirror} in {os.getcwd()}; downloading instead"]


_COMMANDS = {f"data/models/{name}": f"run make {name}" for name in ("minilm", "smollm2")}
"""By path of a model of a study here, what fetches it."""


def missing_files(study: Study) -> list[str]:
    """Return a line for every file or directory that the configuration names and that is missing or wrong.

    Wrong is text whose beginning a job could not read, and the directory of a model that lacks files.
    """
    missing = {
        key: f"no {what} {path} in {os.getcwd()}; {_COMMANDS.get(path, 'correct the path')}"
        for key, path, what, exists in _list_named_files(study)
        if not exists(path)
    }
    wrong = [(key, message) for key, message in _list_unreadable(study) if key not in missing]
    return [f"configuration: {key}: {message}" for key, message in [*missing.items(), *wrong]]


def _list_unreadable(study: Study) -> Iterator[tuple[str, str]]:
    for name, task in study.tasks.items():
        found = [("corpus", one) for one in list_mistakes_of_corpus(task.corpus)]
        if isinstance(task, LanguageSettings) and task.pairs:
            found += [("pairs", one) for one in list_mistakes_of_pairs(task.pairs.path)]
        if task.treebank.source == "files":
            found += [("treebank", one) for one in list_mistakes_of_trees(task.treebank.path)]
        if own := getattr(getattr(task, "encoder", None), "path", None):
            found += [("encoder", ("path", one)) for one in _list_lacking(Path(own), list_mistakes)]
        for key, model in _list_models(task.released):
            if model.path:
                found += [("released", (key, one)) for one in _list_lacking(Path(model.path), _lacking_in(model))]
                found += [("corpus", ("labels", one)) for one in _wrong_labels(Path(model.path), task.corpus)]
        yield from ((f"tasks.{name}.{section}.{key}", message) for section, (key, message) in found)


def _wrong_labels(directory: Path, corpus: object) -> list[str]:
    """Return a message if a directory's classifier has other labels than the configuration gives for a corpus."""
    known, labels = read_labels(directory), getattr(corpus, "labels", None)
    try:
        if known and labels:
            are_unnamed(known, labels)
    except HeadroomError as error:
        return [str(error)]
    return []


def _list_lacking(directory: Path, lacking: Callable[[Path], list[str]]) -> list[str]:
    return lacking(directory) if directory.is_dir() else []


def _lacking_in(model: "Released") -> Callable[[Path], list[str]]:
    """Return the function from the directory of a released model to a message for everything that it lacks."""
    if isinstance(model, HubModelSettings):
        return lambda directory: list_mistakes(directory, model.gguf, removable=model.removable)
    names = (model.checkpoint_file, *model.dictionaries, model.codes_file)
    return lambda directory: [f"{directory}: no {name}; add it" for name in names if not (directory / name).is_file()]


Released = ReleasedModel | HubModelSettings


def _list_models(released: Released | None) -> Iterator[tuple[str, Released]]:
    """Yield the models of a series, each with its key in the section."""
    series: tuple[Released, ...] = released.series if released else ()
    for number, model in enumerate(series, 1):
        yield "path" if number == len(series) else f"earlier.{number - 1}", model


def _list_named_files(study: Study) -> Iterator[tuple[str, str, str, Callable[[str], bool]]]:
    for name, task in study.tasks.items():
        place = f"tasks.{name}"
        whole = isinstance(task.corpus, DocumentFiles) and task.corpus.documents == "file"
        kind, exists = ("directory", os.path.isdir) if whole else ("file", os.path.isfile)
        for key, path in task.corpus.paths.items() if task.corpus.source == "files" else ():
            yield f"{place}.corpus.{key}", path, kind, exists
        if isinstance(task, LanguageSettings) and task.pairs:
            yield f"{place}.pairs.path", task.pairs.path, "file", os.path.isfile
        if own := getattr(getattr(task, "encoder", None), "path", None):
            yield f"{place}.encoder.path", own, "directory", os.path.isdir
        for key, model in _list_models(task.released):
            packed = isinstance(model, ReleasedModel)
            kind, exists = ("directory or archive", os.path.exists) if packed else ("directory", os.path.isdir)
            if model.path:
                yield f"{place}.released.{key}", model.path, kind, exists
        if task.treebank.source == "files":
            yield f"{place}.treebank.path", task.treebank.path, "file", os.path.isfile


def wrong_criteria(plan: Plan) -> list[str]:
    """Return a line for every criterion that the configuration names and that a task does not have."""
    found: list[str] = []
    for name, task in plan.study.tasks.items():
        found += check(f"tasks.{name}", task.pruning.criteria, task.pruning.main)
        compared = task.bakeoff.criteria, task.bakeoff.rescored
        found += check_compared(f"tasks.{name}", *compared, lacking_to_compare(plan, name))
        found += _wrong_layouts(f"tasks.{name}", task.bakeoff.retraining)
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


def main(study: str) -> None:
    """Check a study and its files, and print its name and the parts of .venv that it needs, for `make study`.

    Raises:
        HeadroomError: A line for every mistake.
    """
    plan = Plan(read_study(study))
    if mistakes := find_mistakes(plan):
        raise HeadroomError("\n".join(mistakes))
    print(plan.study.study, *parts_of(plan))


if __name__ == "__main__":
    run(lambda: main(*sys.argv[1:]))
