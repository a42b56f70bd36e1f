"""Write the study of a model that is there: `python -m headroom new MODEL --text FILE`. Weights are not read."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import Field
from pydantic_settings import CliPositionalArg

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.formatting import plural
from headroom.data.given import Given, find_documents, find_labelled, find_parallel
from headroom.missing import missing_files, wrong_criteria
from headroom.settings.job import Job
from headroom.settings.load import load_study
from headroom.settings.models import Dtype, HubModelSettings
from headroom.study.plan import Plan
from headroom.study.targets import tables_by_name

if TYPE_CHECKING:
    from headroom.models.outline import Outline

OPERATIONS = 1e14
"""Operations of removing every head on its own, roughly an hour on two cores; limits the number of examples."""

LOGITS = 4e8
"""Largest size of the logits of a batch in bytes."""

TOKENS = 64
"""Typical number of tokens of a sentence."""

LENGTHS = (512, 256, 128)
"""Lengths of windows of a language model, the first one that leaves enough windows."""

COUNTS = {"billion": 1e9, "million": 1e6, "thousand": 1e3}
BYTES = {"GB": 1e9, "MB": 1e6, "kB": 1e3}

_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
_UNNAMED = re.compile(r"LABEL_[0-9]+")

_STUDY = """\
# yaml-language-server: $schema=schema.json
# {about}
# Written by `python -m headroom new`; all keys, their defaults and meanings: docs/configuration.md
study: {study}
seeds: [1]  # a released model is one run
tasks:
  {task}:
    task: {task}
    released: {released}
    # {divided}
    corpus: {corpus}
    {answers}
    # Each head is removed on its own, and all in several orders: more examples take longer, and narrow the intervals.
    scores: {{examples: {many}, batch_examples: {at_once}}}
    ablation: {{examples: {few}}}
    keep_one: {{examples: {few}}}
    pruning:
      test_examples: {many}
      criteria: [gradient-example, gradient-token]
      normalisations: [raw]
      random_draws: 3
    diversity: {{examples: {many}, batch_examples: {at_once}}}
    attention_stats: {{examples: {many}}}
    timing: {{shares: [0.5], batch_sizes: [1, 4], repeats: 10}}
"""


def find_model(name: str, **options: Any) -> HubModelSettings:
    """Return the settings of a model by its directory, its GGUF file or its name on the Hub.

    Raises:
        HeadroomError: If it is none of these.
    """
    place = Path(name)
    if place.is_dir():
        return HubModelSettings(path=name, **options)
    if place.is_file() and place.suffix == ".gguf":
        return HubModelSettings(path=str(place.parent), gguf=place.name, **options)
    if place.exists():
        raise HeadroomError(f"{name}: a file; give the model's directory, which has config.json, or a GGUF file")
    if place.suffix == ".gguf" or not _HUB_NAME.fullmatch(name):
        raise HeadroomError(f"{name}: no such directory or file; give a model's directory, or its name on the Hub")
    return HubModelSettings(name=name, **options)


def find_text(texts: Sequence[str], outline: "Outline", labels: Sequence[str], place: Path) -> Given:
    """Return the text that is given for a model; what is divided goes to the directory `place`.

    Raises:
        HeadroomError: If it is not the text of the model's kind of task.
    """
    if outline.task in ("language", "masked"):
        return find_documents(texts)
    if outline.task == "translation":
        return find_parallel(texts, place)
    return find_labelled(texts, name_labels(outline, labels), place)


def name_labels(outline: "Outline", given: Sequence[str]) -> Sequence[str]:
    """Return the labels of a classifier: given ones, or those of its configuration.

    Raises:
        HeadroomError: If it has another number of labels, or if they have no names.
    """
    count = len(outline.labels)
    if given and len(given) != count:
        raise HeadroomError(f"--labels: {len(given)} names, but the model has {count} labels; name each")
    if not given and any(map(_UNNAMED.fullmatch, outline.labels)):
        raise HeadroomError(f"--labels: missing, the model's {count} labels have no names; name them in their order")
    return given or outline.labels


def describe(outline: "Outline") -> str:
    """Return what a model is, in a line."""
    layers = {"encoder": sum(site.kind == "E" for site in outline.sites)}
    layers["decoder"] = sum(site.kind == "D" for site in outline.sites)
    shape = " and ".join(plural(count, f"{name} layer") for name, count in layers.items() if count)
    repeated = f" used as {outline.uses}" if outline.uses > len(outline.sites) else ""
    groups = f" in {outline.groups} groups" if outline.groups < outline.heads else ""
    heads = f"{outline.heads} heads{groups}"
    return f"{outline.name}: {shape}{repeated}, {heads}, {_round(outline.parameters, COUNTS)} parameters"


def write_study(name: str, outline: "Outline", settings: HubModelSettings, text: Given) -> str:
    """Return the configuration of a study."""
    length, few = choose_sizes(outline)
    at_once = choose_batch(outline, length)
    library = {"library": "transformers"} if outline.task == "translation" else {}
    removable = {"removable": False} if outline.kept_whole else {}
    windows = {"windows": {"length": length, "per_set": 20 * few, "windows_at_once": min(at_once, 8)}}
    answers: dict[str, dict[str, Any]] = {
        "language": windows,
        "masked": windows,
        "translation": {"arms": {"baseline": {"method": "baseline"}}, "decoding": {"sentences_at_once": at_once}},
        "classification": {"labelling": {"examples_at_once": at_once}},
    }
    return _STUDY.format(
        about=describe(outline),
        study=name,
        task=outline.task,
        released=_flow({**library, **settings.model_dump(exclude_defaults=True), **removable}),
        divided=text.about,
        corpus=_flow(text.corpus),
        answers="\n    ".join(f"{key}: {_flow(section)}" for key, section in answers[outline.task].items()),
        few=few,
        many=4 * few,
        at_once=at_once,
    )


def choose_sizes(outline: "Outline") -> tuple[int, int]:
    """Return the number of tokens of an example, and of examples on which each head is removed on its own."""
    known = [length for length in LENGTHS if length <= outline.longest] or [outline.longest]
    lengths = known if outline.task in ("language", "masked") else [TOKENS]
    counts = {length: int(OPERATIONS / (2 * outline.multiply_adds * length * outline.heads)) for length in lengths}
    length = next((length for length, count in counts.items() if count >= 16), lengths[-1])
    return length, min(max(counts[length], 8), 500)


def choose_batch(outline: "Outline", length: int) -> int:
    """Return the number of examples in a batch, a power of two: of large vocabularies few."""
    tokens = 1 if outline.task == "classification" else length * outline.tokens
    return 2 ** min(max(int(LOGITS / (4 * tokens)).bit_length() - 1, 0), 5)


def _flow(section: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(section), default_flow_style=True, sort_keys=False, width=10**6)).strip()


def describe_memory(outline: "Outline", dtype: str) -> str:
    """Return how much memory a model needs, and whether this machine has it."""
    weights, whole = outline.weight_bytes(dtype), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lacking = f"; this machine has {_round(whole, BYTES)}" if 2 * weights > whole else ""
    return f"{_round(weights, BYTES)} for the weights ({dtype}), two to six times as much in a job{lacking}"


def _round(value: float, units: Mapping[str, float]) -> str:
    """Return a value with two or three digits in the largest unit that it reaches, or in the last one."""
    unit = next((unit for unit, size in units.items() if value >= size), list(units)[-1])
    return f"{value / units[unit]:.3g} {unit}"


class New(Job):
    """Write the study of a model that you have. Weights are not read."""

    model: CliPositionalArg[str] = Field(
        description="directory of a model in the Hub's format, GGUF file, or name on the Hub"
    )
    text: list[str] = Field(
        min_length=1,
        max_length=2,
        description="plain text for a language model, masked or not, TSV for a classifier (columns sentence and "
        "label), for a translation model two aligned files or a TSV of two columns; of plain and labelled text, two "
        "files choose and test heads",
    )
    output: Path | None = Field(None, description="the study's file; by default studies/<model>-<text>.yaml")
    force: bool = Field(False, description="replace the file, if there is one")
    revision: str = Field("main", description="branch, tag or commit of the Hub")
    dtype: Dtype = Field("float32", description="of the weights")
    labels: list[str] = Field([], description="names of a classifier's labels, in their order")
    source_code: str | None = Field(None, description="code of the source language, for models of many, e.g. eng_Latn")
    target_code: str | None = Field(None, description="code of the target language, e.g. deu_Latn")
    prefix: str | None = Field(
        None, description="text before every source sentence, e.g. 'translate English to German: '"
    )


def run(job: New) -> None:
    """Write the study, and say what it is."""
    own = job.model_dump(include={"revision", "dtype", "source_code", "target_code", "prefix"})
    settings = find_model(job.model, **own)
    named = f"{Path(job.model).resolve().name.removesuffix('.gguf')}-{Path(job.text[0]).stem}"
    name = re.sub(r"[^A-Za-z0-9-]+", "-", named).strip("-") or "mine"
    output = job.output or Path("studies") / f"{name}.yaml"
    if output.exists() and not job.force:
        raise HeadroomError(f"{output}: exists already; replace it by --force, or name another file by --output")
    from headroom.models.outline import read_outline

    outline = read_outline(settings)
    text = find_text(job.text, outline, job.labels, output.with_suffix(""))
    written = write_study(output.stem, outline, settings, text)
    plan = Plan(load_study(yaml.safe_load(written), str(output)))
    for path, lines in text.files.items():
        write_lines(path, list(lines))
    if mistakes := [*missing_files(plan.study), *wrong_criteria(plan)]:
        raise HeadroomError("\n".join(mistakes))
    write_lines(output, written.splitlines())
    print(
        f"{describe(outline)}\ntask: {outline.task}; {text.about}\nmemory: {describe_memory(outline, settings.dtype)}"
    )
    print(f"what will run: {', '.join(tables_by_name(plan))}\nwrote {output}; run it by: make study STUDY={output}")
