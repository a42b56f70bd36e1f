"""What text and trees of a study come from, and what the jobs that prepare them are told."""

import os
from collections.abc import Mapping
from typing import Any

from headroom.data.providers import Kind, module_of
from headroom.settings.tasks import ClassificationSettings, LanguageSettings, TranslationSettings
from headroom.study.plan import Plan, local_files, own_files

CATALOGUES = {
    "parallel": "headroom/data/catalogue.yaml",
    "labelled": "headroom/data/labelled_catalogue.yaml",
    "documents": "headroom/data/document_catalogue.yaml",
    "trees": "headroom/data/treebank_catalogue.yaml",
}
"""By kind of data, the catalogue with its addresses, in the directory of the package."""

TEXT: dict[str, Kind] = {
    "translation": "parallel",
    "classification": "labelled",
    "language": "documents",
    "masked": "documents",
}
"""By kind of task, the kind of its text."""


def text_provider(plan: Plan, task: str) -> str:
    """Return the module that provides a task's text."""
    return module_of(plan.study.tasks[task].corpus.source)


def tree_provider(plan: Plan, task: str) -> str:
    """Return the module that provides a task's trees."""
    return module_of(plan.trees(task).source)


def list_text_sources(plan: Plan, task: str) -> list[str]:
    """Return the files that a task's text comes from: the user's own; a catalogue of the package; pairs."""
    source = plan.study.tasks[task].corpus
    return [*own_files(source), *_catalogue(source, TEXT[plan.kind_of(task)]), *list_pairs(plan, task)]


def list_tree_sources(plan: Plan, task: str) -> list[str]:
    """Return the files that a task's trees come from, if they do not come with its text."""
    source = plan.trees(task)
    return [*([] if plan.has_own_trees(task) else own_files(source)), *_catalogue(source, "trees")]


def list_pairs(plan: Plan, task: str) -> list[str]:
    """Return the user's file with pairs of sentences, if any."""
    own = plan.study.tasks[task]
    return [own.pairs.path] if isinstance(own, LanguageSettings) and own.pairs else []


def tell_text(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return what the job that acquires a task's text is told; a file with pairs of sentences goes beside it."""
    return {TEXT[plan.kind_of(task)]: plan.study.tasks[task].corpus, "pairs": next(iter(list_pairs(plan, task)), None)}


def tell_trees(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return what the job that acquires a task's trees is told: the relations that must be among them."""
    relations = plan.study.tasks[task].attention_stats.relations
    return {"trees": plan.trees(task), "relations": relations}


def own_trees(_plan: Plan, _wildcards: Any, input: Any, _output: Any) -> dict[str, Any]:
    """Return the source of trees that come with the text of a task."""
    found = f"{os.path.dirname(input.after)}/check.conllu" if input.get("after") else ""
    return {"trees": {"source": "files", "path": found}} if found else {}


def tell_vocabulary(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return what the job that segments and binarises parallel text is told."""
    own = plan.study.tasks[task]
    assert isinstance(own, TranslationSettings)
    return {"vocabulary": own.vocabulary}


def tell_encoder(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return what the job that prepares the initial encoder of a task's classifiers is told."""
    return {"encoder": _classification(plan, task).encoder}


def list_encoder_files(plan: Plan, task: str) -> list[str]:
    """Return the user's files of the initial encoder of a task's classifiers."""
    encoder = _classification(plan, task).encoder
    return local_files(encoder.path) if encoder.source == "directory" else []


def _catalogue(source: Any, kind: Kind) -> list[str]:
    return [f"<package>/{CATALOGUES[kind]}"] if source.source == "catalogue" else []


def _classification(plan: Plan, task: str) -> ClassificationSettings:
    own = plan.study.tasks[task]
    assert isinstance(own, ClassificationSettings)
    return own
