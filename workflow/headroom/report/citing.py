"""What readers need to cite a study: a paragraph of methods, and BibTeX of the study and of what it used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.files import parse_yaml
from headroom.core.formatting import count, listing, percent, plural
from headroom.core.statistics import LEVEL
from headroom.data.catalogue import Dataset, DocumentDataset, Entry, LabelledDataset, find_entry
from headroom.figures.names import heading
from headroom.report.provenance import versions
from headroom.settings.load import load_study
from headroom.settings.study import Study
from headroom.study.configuration import library_of, task_sections
from headroom.study.selection import examples_in, main_run, rows_where
from headroom.study.tables import StudyTables, seed_of
from headroom.study.task_info import TaskKind

_USED_BY = {"fairseq-fixed": "fairseq", "sentencepiece": "fairseq", "transformers": "transformers"}
_USED_BY |= {"sacrebleu": "translation"}
"""By package the library or the kind of task that uses it; all use the others."""

CATALOGUES: dict[TaskKind, type[Entry]] = {
    "translation": Dataset,
    "classification": LabelledDataset,
    "language": DocumentDataset,
}
"""The entries of data sets."""

_LATEX = {
    **{"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}


YEAR = "2026"
"""The year of this version, as in the licence."""


@dataclass(frozen=True)
class Citing:
    """What readers need to cite a study, as plain text: a paragraph of methods and entries of BibTeX."""

    methods: str
    bibtex: str


def citing(study: str, tables: StudyTables, *, configuration: Any, version: str = "") -> Citing:
    """Return what readers need to cite a study; the configuration is as read from the file, None if unknown."""
    configured = _read_configured(configuration)
    sections = task_sections(configuration)
    kinds = {task: tables.kind_of(task) for task in tables.tasks}
    users = {*kinds.values(), *(library_of(sections.get(task, {}), kind) for task, kind in kinds.items())}
    tags: dict[str, str] = {
        f"package {name}": f"version {text}"
        for name, text in versions().items()
        if _USED_BY.get(name) in (None, *users)
    }
    for settings in (configured.tasks[task] for task in tables.tasks if configured and task in configured.tasks):
        tags |= dict.fromkeys(_list_used(settings), "")
    return Citing(_methods(tables, configured), bibtex(study, tags, version))


def _read_configured(configuration: Any) -> Study | None:
    """Return a configuration with its defaults; None if there is none, or none of this version."""
    try:
        return load_study(configuration) if configuration else None
    except HeadroomError:
        return None


def _methods(tables: StudyTables, configured: Study | None) -> str:
    """Return the models, data and statistics of a study in a paragraph."""
    tasks = [
        _of_task(task, view, configured.tasks.get(task) if configured else None) for task, view in tables.views.items()
    ]
    resamples = count(configured.sampling.resamples) if configured else "the"
    return " ".join([
        *tasks,
        f"Intervals have a level of {percent(LEVEL)}: of scores and differences they are percentiles of {resamples}",
        "paired bootstrap resamples of the examples, of means over seeds t-intervals. The p of a difference is that of",
        "approximate randomisation (two-sided), corrected by Holm over the heads or the steps of a curve. Heads and",
        "orders were chosen on one set and judged on others.",
    ])  # fmt: skip


def _of_task(task: str, tables: StudyTables, settings: Any) -> str:
    """Return the models and data of a task in a sentence; the settings are None if unknown."""
    seeds = sorted({seed_of(run) for run in tables.runs})
    parts = [
        f"{plural(len(tables.runs), 'model')} (arms: {listing(tables.arm_names)}; seeds: {listing(map(str, seeds))})"
    ]
    if tables.has("parameters"):
        rows = rows_where(tables.parameters, run=main_run(tables.parameters, tables))
        parameters = plural(int(rows["model_parameters"].iloc[0]), "parameter")
        parts.append(f"{plural(int(rows['heads'].sum()), 'attention head')} and {parameters} each")
    if settings:
        trained = "as released" if settings.released else f"trained for {plural(settings.epochs, 'epoch')}"
        parts.append(f"{trained}; the data are {_title(settings.corpus, tables.kind)}")
    sizes = {str(name): examples_in(rows) for name, rows in tables.evaluation.groupby("set", sort=False)}
    if judged := [f"{name} {count(size)}" for name, size in sizes.items() if size]:
        parts.append(f"examples judged: {listing(judged)}")
    return f"{heading(task)}: {', '.join(parts)}."


def _title(corpus: Any, kind: TaskKind) -> str:
    """Return a short description of the text of a task."""
    if corpus.source == "catalogue":
        return find_entry(CATALOGUES[kind], corpus.dataset).title
    titles = {"generated": "sentences generated by headroom", "sacrebleu": "test sets of sacrebleu"}
    titles["hub"] = f"{getattr(corpus, 'dataset', '')} of the Hugging Face Hub"
    return titles.get(corpus.source, "files of the authors of the study")


def _list_used(settings: Any) -> Iterator[str]:
    """Yield what the settings of a task name, as `references.yaml` calls it."""
    corpus, encoder = settings.corpus, getattr(settings, "encoder", None)
    if corpus.source in ("catalogue", "hub"):
        yield f"{'dataset' if corpus.source == 'catalogue' else 'hub'} {corpus.dataset}"
    if corpus.source == "sacrebleu":
        yield from (f"set {name}" for name in corpus.named_sets.values())
    yield from (f"far {name}" for name in corpus.far_names)
    if settings.treebank.source == "catalogue":
        yield f"treebank {settings.treebank.treebank}"
    for key in ("name", "path"):
        if named := getattr(settings.released, key, None):
            yield f"model {named}"
    if encoder and not settings.released:
        yield f"encoder {getattr(encoder, 'name', encoder.source)}"
    yield from (f"method {arm.method}" for arm in settings.arms.values())


def bibtex(study: str, tags: Mapping[str, str], version: str = "") -> str:
    """Return BibTeX of a study, of the papers, and of the data and software that it used.

    `tags` are what `references.yaml` calls these, each with a note on it or "".
    """
    known = parse_yaml((Path(__file__).parent / "references.yaml").read_text(encoding="utf-8"))
    own = {"author": "the headroom authors", "title": f"headroom, study {study}", "year": YEAR}
    own |= {"note": f"Software, version {version}" if version else ""}
    entries = [_entry("misc", "-".join(["headroom", *re.findall("[a-z0-9]+", study.lower())]), own)]
    for key, entry in known.items():
        used = [tag for tag in entry["used"] if tag == "paper" or tag in tags]
        if used:
            fields = {name: value for name, value in entry.items() if name not in ("used", "kind")}
            notes = listing(tags[tag] for tag in used if tags.get(tag))
            entries.append(_entry(entry["kind"], key, {**fields, "note": notes}))
    return "\n".join(entries)


def _entry(kind: str, key: str, fields: Mapping[str, Any]) -> str:
    lines = [f"  {name} = {{{_brace_value(name, str(value))}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}\n"])


def _brace_value(name: str, value: str) -> str:
    """Return the value of a field with LaTeX's characters escaped: in braces titles, and authors who are no persons."""
    text = "".join(_LATEX.get(letter, letter) for letter in " ".join(value.split()))
    is_whole = name in ("title", "booktitle") or (name == "author" and "," not in text)
    return f"{{{text}}}" if is_whole else text
