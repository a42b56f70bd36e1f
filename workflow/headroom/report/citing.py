"""What readers need to cite a study: methods, BibTeX, and answers to the checklist of a conference."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy
import pandas
import yaml
from markupsafe import Markup

from headroom.claims.entries import papers_asked
from headroom.claims.selection import examples_in, main_run, rows_where
from headroom.claims.study_tables import TRANSLATION, StudyTables, arm_of, kind_of, seed_of
from headroom.core.curves import MARGINS
from headroom.core.errors import HeadroomError
from headroom.core.formatting import count, device_name, duration, listing, percent, plural
from headroom.core.statistics import LEVEL
from headroom.data.catalogue import Dataset, Entry, LabelledDataset, PublishedFile, Treebank, find_entry
from headroom.report.names import METHOD_NAMES, criterion_name, heading
from headroom.report.provenance import Provenance
from headroom.settings.study import Study, load_study

_HERE = Path(__file__).parent
_OF_KIND = {"fairseq-fixed": "translation", "sacrebleu": "translation", "sentencepiece": "translation"}
_OF_KIND |= {"transformers": "classification", "tokenizers": "classification"}
_LATEX = {
    **{"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}


@dataclass(frozen=True)
class Answer:
    """A question of a checklist with its answer; `known` is false if the study does not know it."""

    question: str
    text: str
    known: bool = True


@dataclass(frozen=True)
class Citing:
    """What readers need to cite a study: paragraphs of methods, entries of BibTeX, answers to a checklist."""

    methods: tuple[str, ...]
    bibtex: str
    answers: tuple[Answer, ...]

    def html(self) -> Markup:
        """Return it as the content of a section of the page; every text is escaped."""
        module: Any = _environment(autoescape=True).get_template("cite.html.j2").module
        return Markup(module.cite(self))


@dataclass(frozen=True)
class Data:
    """Where the text of a task, or its trees, come from."""

    title: str  # A short description
    licences: tuple[str, ...] = ()  # what it may be used for; none if it is not known
    # by set, how many examples it has, as far as the configuration or a catalogue says
    sizes: Mapping[str, int] | None = None
    tags: tuple[str, ...] = ()  # what `references.yaml` calls it, and then its far sets
    files: tuple[PublishedFile, ...] = ()  # its published files


def citing(study: str, tables: StudyTables, *, configuration: Any, made: Provenance, version: str = "") -> Citing:
    """Return what readers need to cite a study; the configuration is as read from the file, None if unknown."""
    configured, papers = _configured(configuration), papers_asked(tables)
    tasks = [_task(task, tables.of_task(task), configured) for task in tables.tasks]
    stages, versions = (_rows(made, name) for name in ("stages", "versions"))
    kinds = {kind_of(task) for task in tables.tasks}
    packages = {
        package: text
        for package, text in (versions.itertuples(index=False) if len(versions) else ())
        if _OF_KIND.get(package) in (None, *kinds)
    }
    texts = _texts(
        study=study,
        version=version,
        tasks=tasks,
        configured=configured,
        level=LEVEL,
        margins=MARGINS,
        papers=papers,
        claims=sum(any(map(claim.asked_of, tables.tasks)) for paper in papers for claim in paper.claims),
        packages=packages,
        seconds=float(stages["seconds"].sum()) if len(stages) else None,
        memory=float(stages["memory"].max()) if len(stages) else None,
        timing=tables.timing,
    )
    tags = {f"package {package}": f"version {text}" for package, text in packages.items()}
    data = [one for task in tasks for one in (task["data"], task["trees"]) if one]
    tags |= dict.fromkeys(tag for task in tasks for tag in task["tags"])
    return Citing(texts["methods"], bibtex(study, tags, data, version), texts["answers"])


def bibtex(study: str, tags: Mapping[str, Any], data: Sequence[Data] = (), version: str = "") -> str:
    """Return BibTeX of a study, of the papers, and of the data and software that it used.

    `tags` are what `references.yaml` calls these, each with a note on it or None; data that no entry is about gets an
    entry with its title and address.
    """
    known = yaml.safe_load((_HERE / "references.yaml").read_text(encoding="utf-8"))
    named = " ".join(re.findall("[a-z0-9]+", study.lower())) or "study"
    own = {"title": f"headroom, study {study}", "note": f"Software, version {version}" if version else ""}
    entries = [_entry("misc", f"headroom-{named.replace(' ', '-')}", own)]
    about = {tag for entry in known.values() for tag in entry["used"]}
    for key, entry in known.items():
        used = [tag for tag in entry["used"] if tag == "paper" or tag in tags]
        if used:
            fields = {name: value for name, value in entry.items() if name not in ("used", "kind")}
            notes = listing(tags[tag] for tag in used if tags.get(tag))
            entries.append(_entry(entry["kind"], key, {**fields, "note": notes}))
    unlisted = {one.tags[0]: one for one in data if one.tags and one.files and one.tags[0] not in about}
    for tag, one in unlisted.items():
        key = "-".join(re.findall("[a-z0-9]+", tag.lower()))
        entries.append(_entry("misc", key, {"title": one.title, "howpublished": one.files[0].url}))
    return "\n".join(entries)


def _entry(kind: str, key: str, fields: Mapping[str, Any]) -> str:
    lines = [f"  {name} = {{{_braced(name, str(value))}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}\n"])


def _braced(name: str, value: str) -> str:
    """Return the value of a field with LaTeX's characters escaped, a title in braces that keep its capitals."""
    text = "".join(_LATEX.get(letter, letter) for letter in " ".join(value.split()))
    return f"{{{text}}}" if name in ("title", "booktitle") else text


def _configured(configuration: Any) -> Study | None:
    """Return a configuration with its defaults; None if there is none, or none of this version."""
    try:
        return load_study(configuration) if configuration else None
    except HeadroomError:
        return None


def _task(name: str, tables: StudyTables, configured: Study | None) -> dict[str, Any]:
    """Return what templates need about one task; unknown values are None."""
    settings: Any = configured.tasks.get(name) if configured else None
    data = _data(settings.corpus, name) if settings else None
    trees = _trees(settings.treebank) if settings else None
    parameters = tables.parameters
    if tables.has("parameters"):
        parameters = rows_where(parameters, run=main_run(parameters, tables))
    sets = {str(own): examples_in(rows) for own, rows in tables.evaluation.groupby("set", sort=False)}
    used = [tag for one in (data, trees) if one for tag in one.tags]
    if settings:
        used += [f"method {arm.method}" for arm in settings.arms.values()]
        encoder = getattr(settings, "encoder", None)
        used += [f"encoder {getattr(encoder, 'name', encoder.source)}"] if encoder and not settings.released else []
    return {
        "name": heading(name),
        "kind": kind_of(name),
        "tables": tables,
        "settings": settings,
        "data": data,
        "trees": trees,
        "tags": used,
        "arms": tables.described_arms,
        "seeds": sorted({seed_of(run) for run in tables.runs}),
        "per_arm": [sum(arm_of(run) == arm for run in tables.runs) for arm in tables.arm_names],
        "heads": int(parameters["heads"].sum()) if len(parameters) else None,
        "parameters": int(parameters["model_parameters"].iloc[0]) if len(parameters) else None,
        "sets": {own: amount for own, amount in sets.items() if amount},
    }


def _data(corpus: Any, task: str) -> Data:
    """Return what is known of the text of a task from its section `corpus`."""
    far = {f"far {name}": None for name in corpus.far_names}
    if corpus.source == "generated":
        sizes = {name: getattr(corpus, name) for name in ("train", "valid", "test", "far")}
        return Data(f"text generated by the grammar of headroom, seed {corpus.seed}", ("MIT, as headroom",), sizes)
    if corpus.source == "catalogue":
        model: type[Entry] = Dataset if task == TRANSLATION else LabelledDataset
        entry: Any = find_entry(model, corpus.dataset, corpus.far)
        wanted = [name for name in entry.sets if name not in entry.far or name in corpus.far]
        sizes = {name: entry.size(name) for name in wanted}
        files = entry.files_of(wanted)
        return Data(entry.title, _licences(files), sizes, (f"dataset {corpus.dataset}", *far), files)
    if corpus.source == "hub":
        part = f", {corpus.name}" if corpus.name else ""
        at = f", revision {corpus.revision}" if corpus.revision else ""
        return Data(f"{corpus.dataset}{part} of the Hugging Face Hub{at}", tags=(f"hub {corpus.dataset}",))
    if corpus.source == "sacrebleu":
        named = corpus.named_sets.values()
        return Data(f"test sets of sacrebleu ({listing(named)})", tags=tuple(f"set {name}" for name in named))
    return Data("files of the authors of the study")


def _trees(treebank: Any) -> Data | None:
    """Return what is known of the trees of a task; None if it has none of its own."""
    if treebank.source == "catalogue":
        entry = find_entry(Treebank, treebank.treebank)
        tags = (f"treebank {treebank.treebank}",)
        return Data(entry.title, (entry.file.licence,), tags=tags, files=(entry.file,))
    return Data("a treebank of the authors of the study") if treebank.source == "files" else None


def _licences(files: Sequence[PublishedFile]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file.licence for file in files))


def _rows(made: Provenance, name: str) -> pandas.DataFrame:
    """Return the rows of one of the tables on how a study was made; none without it."""
    found = [table.frame for fold in made.folds for table in fold.tables if table.name == name]
    return found[0] if found else pandas.DataFrame()


def _environment(*, autoescape: bool) -> jinja2.Environment:
    """Return the environment of templates; in plain text every value is on one line, so that none opens a paragraph."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=None if autoescape else _on_one_line,
    )
    made.filters |= {one.__name__: one for one in (count, device_name, duration, listing, percent, plural)}
    made.filters |= {
        "criterion": lambda name: criterion_name(name).replace(",", ""),
        "method_name": lambda name: METHOD_NAMES.get(name, name),
        "g": lambda value: numpy.format_float_positional(value, trim="-"),
    }
    return made


def _on_one_line(value: Any) -> Any:
    return re.sub(r"[^\S\u00a0\u202f]+", " ", value) if isinstance(value, str) else value


def _texts(**about: Any) -> dict[str, tuple[Any, ...]]:
    """Return the paragraphs of methods and the answers of the checklist; `##` opens a question, `Unknown` an answer."""
    text = _environment(autoescape=False).get_template("prose/methods.md.j2").render(about)
    methods, *questions = re.split(r"^## ", text, flags=re.MULTILINE)
    return {"methods": tuple(_paragraphs(methods)), "answers": tuple(map(_answer, questions))}


def _answer(text: str) -> Answer:
    question, _, answer = text.partition("\n")
    words = " ".join(_paragraphs(answer)) or "Unknown: no run of this study was found."
    return Answer(question.strip(), words, known=not words.startswith("Unknown"))


def _paragraphs(text: str) -> Iterator[str]:
    for one in re.split(r"\n[ \n]*\n", text.strip(" \n")):
        if one:
            yield re.sub(r"\n+ *([.,;)])", r"\1", one).replace("\n", " ").strip(" ")
