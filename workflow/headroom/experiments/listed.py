"""The sections of the page, in their order.

Which heads matter, what can go, what heads do, what learning keeps, what removal gains, what repulsion changes. An
experiment is the folder of its name. Its parts are imported by their names, so that a part which loads a heavy library
is loaded alone, and a job does not depend on other experiments.
"""

from importlib import import_module
from types import ModuleType

SECTIONS = (
    "ablation.page",
    "keep_one.page",
    "scores.page",
    "agreement.page",
    "pruning.page",
    "bakeoff.page",
    "roles.page",
    "phenomena.page",
    "minimal_pairs.page",
    "gates.page",
    "removal.page",
    "timing.page",
    "arms.repulsion_section",
    "training.page",
)


def list_sections() -> list[ModuleType]:
    """Return the modules of the page's sections, each with `section(study)`."""
    return [import_module(f"headroom.experiments.{name}") for name in SECTIONS]
