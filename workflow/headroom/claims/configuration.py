"""The study's configuration as the report reads it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from headroom.claims.arms import ArmDescription, described
from headroom.claims.study_tables import TABLES, TRANSLATION, StudyTables
from headroom.core.errors import HeadroomError

Arms = dict[str, dict[str, ArmDescription]]


def read_configuration(path: Path | None) -> Any:
    """Return a configuration, JSON or YAML (JSON is a part of YAML); None without a path.

    Raises:
        HeadroomError: If the file cannot be read.
    """
    if path is None:
        return None
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise HeadroomError(f"cannot read the configuration {path}: {error}") from error


def arms_in(configuration: Any) -> Arms:
    """Return the arms of every task as a configuration describes them, in its order; tasks without any are left out."""
    found = {task: _arms_of(section) for task, section in task_sections(configuration).items()}
    return {task: arms for task, arms in found.items() if arms}


def mains_in(configuration: Any) -> dict[str, str]:
    """Return the main criterion of every task whose pruning section names one."""
    every = task_sections(configuration)
    named = {task: mapping(section.get("pruning")).get("main") for task, section in every.items()}
    return {task: str(main) for task, main in named.items() if main}


def task_sections(configuration: Any) -> dict[str, Mapping[str, Any]]:
    """Return the section of every task."""
    whole = mapping(configuration)
    sections = {TRANSLATION: whole.get(TRANSLATION), **mapping(whole.get("classification"))}
    return {task: mapping(section) for task, section in sections.items()}


def _arms_of(section: Mapping[str, Any]) -> dict[str, ArmDescription]:
    """Return the arms of one task; its model's own settings are what an arm without such a setting has."""
    model = {**mapping(section.get("model")), **mapping(section.get("encoder"))}
    return {name: described(name, mapping(arm), model) for name, arm in mapping(section.get("arms")).items()}


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def tables_of(paths: Sequence[Path], configuration: Path | None) -> StudyTables:
    """Return tables of a study with arms and orders from its configuration."""
    configured = read_configuration(configuration)
    return StudyTables(paths, arms=arms_in(configured), mains=mains_in(configured))


def found_in(results: Path) -> StudyTables:
    """Return the tables that a directory of results has, with its configuration.

    Raises:
        HeadroomError: If it has none.
    """
    paths = paths_in(results)
    if not paths:
        raise HeadroomError(f"{results}: has no tables; name the results of a study, e.g. results/starter")
    configuration = results / "configuration.json"
    return tables_of(paths, configuration if configuration.exists() else None)


def paths_in(results: Path) -> list[Path]:
    """Return the tables in a directory of results."""
    names = (f"{name}.csv" if table.of_study else f"{name}/*.csv" for name, table in TABLES.items())
    return [path for name in names for path in sorted(results.glob(name))]
