"""The study's configuration as the report reads it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from headroom.core.errors import HeadroomError
from headroom.settings.models import PRETRAINED
from headroom.study.arms import ArmDescription, describe_arm
from headroom.study.tables import RELEASED, TABLES, Ground, StudyTables, TaskDescription, open_tables
from headroom.study.task_info import TaskKind

SIZED = {
    "corpus": ("far", "train_share"),
    "vocabulary": (),
    "model": ("encoder_layers", "decoder_layers", "heads", "width", "feed_forward"),
    "training": ("epochs", "early_checkpoints", "learning_rate", "warmup_updates"),
}
"""Sections that models compared by size have in common, with the settings in which they may differ."""


def read_configuration(path: Path | None) -> Any:
    """Return a configuration, JSON or YAML (JSON is a part of YAML); None without a path.

    Raises:
        HeadroomError: If the file cannot be read.
    """
    if path is None:
        return None
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))  # libyaml refuses some characters
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise HeadroomError(f"cannot read the configuration {path}: {error}") from error


def tasks_in(configuration: Any) -> dict[str, TaskDescription]:
    """Return what a configuration says of every task."""
    return {task: _describe_task(section) for task, section in task_sections(configuration).items()}


def _describe_task(section: Mapping[str, Any]) -> TaskDescription:
    pruning = mapping(section.get("pruning"))
    main = pruning.get("main")
    generated = {name: mapping(section.get(name)).get("source") == "generated" for name in ("corpus", "treebank")}
    known = {"main": str(main)} if main else {}
    corpus = mapping(section.get("corpus"))
    share = corpus.get("train_share")
    return TaskDescription(
        kind=section.get("task", ""),
        library=library_of(section, section.get("task", "")) if section else "",
        arms=_arms_of(section),
        ground=_ground(section),
        own_trees=all(generated.values()),
        groups=pruning.get("unit") == "group",
        is_series=bool(mapping(section.get("released")).get("earlier")),
        window=mapping(section.get("windows")).get("length"),
        beside=_settings_beside_size(section),
        corpus=_describe_corpus(corpus),
        source=str(corpus.get("dataset") or corpus.get("source") or "").partition("-")[0],  # multi30k, multi30k-french
        train_share=share if isinstance(share, float) else 1.0,
        annealed_share=float(mapping(section.get("training")).get("annealed_share") or 0.0),
        **known,
    )


def _settings_beside_size(section: Mapping[str, Any]) -> str:
    """Return what two models have in common if they differ in size alone, "" of a task without a corpus."""
    parts = {part: mapping(section.get(part)) for part in SIZED}
    kept = {part: {name: own[name] for name in own if name not in SIZED[part]} for part, own in parts.items()}
    return json.dumps(kept, sort_keys=True, default=str) if kept["corpus"] else ""


def _describe_corpus(section: Mapping[str, Any]) -> str:
    """Return where text is from, "" without any: its settings that are words; numbers say how much of it is used."""
    words = {name: value for name, value in section.items() if isinstance(value, str)}
    return json.dumps(words, sort_keys=True) if words else ""


def _ground(section: Mapping[str, Any]) -> Ground | Literal[""]:
    if not section:
        return ""
    if section.get("released"):
        return RELEASED
    if mapping(section.get("encoder")).get("source") in PRETRAINED:
        return "pretrained encoder"
    return "generated text" if mapping(section.get("corpus")).get("source") == "generated" else "real text"


def library_of(section: Mapping[str, Any], kind: TaskKind) -> str:
    """Return what runs the models of a task: fairseq translates, unless the released model is one of transformers."""
    named = mapping(section.get("released")).get("library")
    return str(named or ("fairseq" if kind == "translation" else "transformers"))


def task_sections(configuration: Any) -> dict[str, Mapping[str, Any]]:
    """Return the section of every task."""
    return {task: mapping(section) for task, section in mapping(mapping(configuration).get("tasks")).items()}


def _arms_of(section: Mapping[str, Any]) -> dict[str, ArmDescription]:
    """Return the arms of one task; its model's own settings are what an arm without such a setting has."""
    model = {**mapping(section.get("model")), **mapping(section.get("encoder"))}
    return {name: describe_arm(name, mapping(arm), model) for name, arm in mapping(section.get("arms")).items()}


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def list_tables(paths: Sequence[Path], configuration: Path | None) -> StudyTables:
    """Return tables of a study with what its configuration says of the tasks."""
    return open_tables(paths, described=tasks_in(read_configuration(configuration)))


def found_in(results: Path) -> StudyTables:
    """Return the tables that a directory of results has, with its configuration.

    Raises:
        HeadroomError: If it has none.
    """
    paths = paths_in(results)
    if not paths:
        raise HeadroomError(f"{results}: has no tables; name the results of a study, e.g. results/starter")
    return open_tables(paths, described=tasks_of(results))


def tasks_of(results: Path) -> dict[str, TaskDescription]:
    """Return what the configuration in a directory of results says of every task; nothing without one."""
    path = results / "configuration.json"
    return tasks_in(read_configuration(path)) if path.exists() else {}


def paths_in(results: Path) -> list[Path]:
    """Return the tables in a directory of results."""
    names = (f"{name}.csv" if table.of_study else f"{name}/*.csv" for name, table in TABLES.items())
    return [path for name in names for path in sorted(results.glob(name))]
