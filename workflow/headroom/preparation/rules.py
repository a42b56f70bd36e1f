"""The jobs that prepare what experiments need: text, trees, vocabularies, initial encoders, released models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headroom.data.providers import Kind, module_of
from headroom.engines.command import ENGINES
from headroom.settings.tasks import ClassificationSettings, LanguageSettings, TranslationSettings
from headroom.study.plan import Plan, local_files, own_files
from headroom.study.stages import Files, Rule, Stage, Values

CATALOGUES = {
    "parallel": "headroom/data/catalogue.yaml",
    "labelled": "headroom/data/labelled_catalogue.yaml",
    "documents": "headroom/data/document_catalogue.yaml",
    "trees": "headroom/data/treebank_catalogue.yaml",
}
"""By kind of data, the catalogue with its addresses."""

ACQUIRED = 2e9
"""Bytes of text of unknown size, and of its archive, while it is read and divided."""

TEXT: dict[str, Kind] = {"translation": "parallel", "classification": "labelled", "language": "documents"}
"""By kind of task, the kind of its text."""


def of_tasks(chosen: Callable[[Plan, str], bool]) -> Callable[[Plan], Iterable[Values]]:
    """Return a function from a plan to one call for each of the chosen tasks."""
    return lambda plan: [{"task": task} for task in plan.study.tasks if chosen(plan, task)]


def is_trained(plan: Plan, task: str, engine: str) -> bool:
    """Return whether the study trains a task's models by this engine."""
    return plan.engine_of(task) == engine and not plan.study.tasks[task].released


def source_of(kind: Kind, plan: Plan, task: str) -> Any:
    """Return the settings of the source of a task's text or trees."""
    return plan.trees(task) if kind == "trees" else plan.study.tasks[task].corpus


def provider(kind: Kind, plan: Plan, task: str) -> Sequence[str]:
    """Return the module that provides a task's text or trees."""
    return [module_of(source_of(kind, plan, task).source)]


def sources(kind: Kind, plan: Plan, task: str) -> list[str]:
    """Return the files that a task's text or trees come from: the user's own, a catalogue."""
    source = source_of(kind, plan, task)
    own = [] if kind == "trees" and plan.trees_beside_text(task) else own_files(source)
    return [*own, *([f"<package>/{CATALOGUES[kind]}"] if source.source == "catalogue" else [])]


def text_files(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return the files of a task's text: all sets; generated parallel text comes with trees and phenomena."""
    sets, corpus = plan.sets(task), f"{task}/corpus"
    if plan.kind_of(task) != "translation":
        pairs = [f"{corpus}/pairs.tsv"] if pair_file(plan, task) else []
        return {"output": [*plan.corpus(task, *sets), *pairs]}
    beside = sets if plan.study.tasks[task].corpus.source == "generated" else []
    trees = [f"{corpus}/{name}.{end}" for end in ("conllu", "phenomena.csv") for name in beside]
    return {"output": [*plan.corpus(task, *sets), *trees, f"{corpus}/corpus.json"]}


def pair_file(plan: Plan, task: str) -> list[str]:
    """Return the user's file with pairs of sentences, if any."""
    own = plan.study.tasks[task]
    return [own.pairs.path] if isinstance(own, LanguageSettings) and own.pairs else []


def read_sources(plan: Plan, values: Values) -> Files:
    """Return the files that text comes from."""
    task = values["task"]
    return {"outside": [*sources(TEXT[plan.kind_of(task)], plan, task), *pair_file(plan, task)]}


def text_flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the kind of text, and the file with pairs of sentences that goes beside it."""
    pairs = pair_file(plan, values["task"])
    return {"kind": TEXT[plan.kind_of(values["task"])], **({"pairs": pairs[0]} if pairs else {})}


def read_trees(plan: Plan, values: Values) -> Files:
    """Return the source files of trees: generated translation text comes with trees."""
    return {"path": plan.trees_beside_text(values["task"]), "outside": sources("trees", plan, values["task"])}


def tree_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the source of a task's trees."""
    return {"treebank": plan.trees(values["task"])}


def tree_flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the relations that must be among the trees."""
    relations = plan.study.tasks[values["task"]].attention_stats.relations
    return {"kind": "trees", "relations": relations}


def environment(plan: Plan, task: str) -> str:
    """Return the environment of a source of text: the Hub's library is in the one with torch."""
    return "torch" if plan.study.tasks[task].corpus.source == "hub" else "plain"


def read_text(*sets: str) -> Callable[[Plan, Values], Files]:
    """Return a function from a plan and wildcards to the text of sets of a task."""
    return lambda plan, values: {"corpus": plan.texts(values["task"], *sets)}


def encoder_files(plan: Plan, values: Values) -> Files:
    """Return what an encoder is made of: the text of its pieces, or the files of its directory."""
    encoder = _classifier(plan, values["task"]).encoder
    own = local_files(encoder.path) if encoder.source == "directory" else []
    return {**read_text("train")(plan, values), "outside": own}


def released_calls(plan: Plan) -> Iterable[Values]:
    """Return one call per released model, whose checkpoints are the epochs of a run."""
    return plan.calls(run for run in plan.runs if plan.task(run).released)


def released_files(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return the files of a released model: one of fairseq comes with its vocabulary."""
    vocabulary = {"vocabulary": plan.vocabulary(task)} if plan.engine_of(task) == "fairseq" else {}
    places = [f"runs/{{run}}/epoch{epoch:g}" for epoch in plan.epochs(task)]
    return {**vocabulary, "checkpoint": [file for place in places for file in plan.model(task, place)]}


def read_released(plan: Plan, values: Values) -> Files:
    """Return the user's files of a released model, and the text by which its labels, or its lines, are checked."""
    task = plan.task_of(values)
    sets = {"classifier": ["choose"], "seq2seq": ["choose", "check", "test"]}.get(plan.engine_of(task))
    text = {"corpus": plan.texts(task, *sets)} if sets else {}
    released = plan.study.tasks[task].released
    own = [file for one in released.series for file in local_files(one.path)] if released else []
    return {**text, "outside": own}


def _classifier(plan: Plan, task: str) -> ClassificationSettings:
    found = plan.study.tasks[task]
    assert isinstance(found, ClassificationSettings)
    return found


def _translation(plan: Plan, task: str) -> TranslationSettings:
    found = plan.study.tasks[task]
    assert isinstance(found, TranslationSettings)
    return found


TEXTS = Stage(
    name="acquire",
    about="acquire text or trees: generated, from the catalogue, the Hub or sacrebleu, or your own",
    group="Data",
    module="headroom.preparation.acquire",
    calls=of_tasks(lambda plan, task: True),
    outputs=text_files,
    reads=read_sources,
    settings=lambda plan, values: {"corpus": plan.study.tasks[values["task"]].corpus},
    flags=text_flags,
    imports=lambda plan, values: provider(TEXT[plan.kind_of(values["task"])], plan, values["task"]),
    downloads=lambda plan, task: True,
)
TREES = Stage(
    name="acquire",
    about=TEXTS.about,
    group="Data",
    module=TEXTS.module,
    calls=of_tasks(lambda plan, task: plan.study.tasks[task].treebank.source != "none"),
    outputs={"output": "{task}/treebank.conllu"},
    reads=read_trees,
    settings=tree_settings,
    flags=tree_flags,
    imports=lambda plan, values: provider("trees", plan, values["task"]),
    downloads=lambda plan, task: True,
)
SEGMENT = Stage(
    name="vocabulary",
    about="learn subword pieces and binarise parallel text",
    group="Models",
    module="headroom.preparation.vocabulary",
    calls=of_tasks(lambda plan, task: is_trained(plan, task, "fairseq")),
    outputs=lambda plan, task: {
        "output": [*plan.vocabulary(task), *plan.binarised(task), f"{task}/binarised/prepared.json"]
    },
    reads=read_text("train", "choose", "check"),
    settings=lambda plan, values: {"vocabulary": _translation(plan, values["task"]).vocabulary},
)
ENCODE = Stage(
    name="encoder",
    about="prepare the initial encoder of classifiers",
    group="Models",
    module="headroom.preparation.encoder",
    calls=of_tasks(lambda plan, task: is_trained(plan, task, "classifier")),
    outputs=lambda plan, task: {"output": plan.encoder(task)},
    reads=encoder_files,
    settings=lambda plan, values: {"encoder": _classifier(plan, values["task"]).encoder},
)
RELEASE = Stage(
    name="released",
    about="import a released model",
    group="Models",
    module="headroom.preparation.released",
    named=False,
    calls=released_calls,
    outputs=released_files,
    reads=read_released,
    settings=lambda plan, values: {"released": plan.task(values["run"]).released},
    flags=lambda plan, values: {"engine": plan.engine(values["run"])},
    imports=lambda plan, values: [f"{ENGINES[plan.engine(values['run'])]}.released"],
    downloads=lambda plan, task: plan.engine_of(task) == "fairseq",
)
RULES = (
    Rule(stages=(TEXTS,), name="text", by_kind=True, environment=environment, minutes=60, megabytes=4000),
    # fail early if a relation is missing
    Rule(stages=(TREES,), name="treebank", environment="plain", priority=100, minutes=30),
    Rule(stages=(SEGMENT,), minutes=60),
    Rule(stages=(ENCODE,), priority=60, minutes=60),  # trainings, the longest jobs, wait for it
    Rule(stages=(RELEASE,), by_kind=True, priority=100, minutes=4 * 60, megabytes=4000),
)
