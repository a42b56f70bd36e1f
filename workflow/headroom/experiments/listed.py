"""Every experiment, in the order of the page.

Which heads matter, what can go, what heads do, what learning keeps, what removal gains, what repulsion changes. An
experiment is the folder of its name. Its parts are imported by their names, so that a part which loads a heavy library
is loaded alone, and a job does not depend on other experiments.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the page lists sections, and does not depend on jobs
    from headroom.experiments.experiment import Experiment

NOUNS = (
    "evaluation",
    "ablation",
    "keep_one",
    "scores",
    "agreement",
    "pruning",
    "bakeoff",
    "attention_stats",
    "roles",
    "phenomena",
    "minimal_pairs",
    "attention_maps",
    "diversity",
    "gates",
    "removal",
    "timing",
    "arms",
    "update_cost",
    "training",
)


def part_of(noun: str, part: str) -> ModuleType:
    """Import a part of an experiment, e.g. its `page`."""
    return import_module(f"headroom.experiments.{noun}.{part}")


def list_experiments() -> "list[Experiment]":
    """Return every experiment."""
    return [part_of(noun, "experiment").EXPERIMENT for noun in NOUNS]


def list_sections() -> list[ModuleType]:
    """Return the modules of the page's sections, each with `section(study)`."""
    return [part_of(one.noun, part) for one in list_experiments() for part in one.sections]
