"""The source files that results depend on: import closures of stages, determined without importing them.

Settings and the declarations of tables are excluded: their values are a rule's params. A stage imports no engine and no
provider of text; those of a job are determined by its run, by the stage's constant `USES` and by the source of its
text.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grimp

from headroom.engines.engine import ENGINES, PARTS
from headroom.methods.criteria import modules_of

DECLARATIONS = ("headroom.settings", "headroom.core.tables")
"""Packages whose content affects results only through params of rules."""

CHOSEN = {
    "headroom.stages.training": ("headroom.methods.translation_arms", "headroom.methods.classification_arms"),
    "headroom.stages.released": ("headroom.engines.translation.released", "headroom.engines.classification.released"),
}
"""By stage, the modules of which a job imports one, given by its rule."""

CRITERIA = "headroom.methods.criteria"

FAMILIES = (CRITERIA, "headroom.claims")
"""The packages that import their modules dynamically. Of `CRITERIA` a stage calls only the functions of some modules,
those that write or read its tables (`CRITERIA_OF`) or that its rule names; the others only declare theirs."""

PACKAGES = ("claims", "report")
"""The stages that are packages."""

_CONSTANT = r"^{} = (\(.*?\))$"


@dataclass(frozen=True)
class Sources:
    """The import graph of the package.

    Attributes:
        place: The directory that holds the package.
    """

    place: Path

    @cached_property
    def graph(self) -> grimp.ImportGraph:
        """The imports between modules, without those from engines and stages to modules that are chosen per job."""
        graph = grimp.build_graph("headroom", cache_dir=None, exclude_type_checking_imports=True)
        for engine in (f"headroom.engines.{name}" for name in ENGINES):
            for part in (f"{engine}.{name}" for name in PARTS if f"{engine}.{name}" in graph.modules):
                graph.remove_import(importer=f"{engine}.engine", imported=part)
        for stage, modules in CHOSEN.items():
            for module in modules:
                graph.remove_import(importer=stage, imported=module)
        return graph

    def of(self, *modules: str, criteria: Iterable[str] | None = None) -> list[str]:
        """Return the files of modules, of their imports, and of the packages that contain these.

        `criteria` are the modules of criteria whose functions are called, by default all.
        """
        known = [name for module in modules for name in (module, f"{module}.__main__") if name in self.graph.modules]
        found = {name for module in known for name in (module, *self.graph.find_upstream_modules(module))}
        for family in found.intersection(FAMILIES):  # it imports all modules of its folder
            every = self.graph.find_children(family)
            families = every if family != CRITERIA or criteria is None else criteria
            found |= {name for module in families for name in (module, *self.graph.find_upstream_modules(module))}
        found = {name for name in found if not name.startswith(DECLARATIONS)}
        packages = {name.rpartition(".")[0] for name in found if "." in name}
        return sorted(str(self._file(name)) for name in found | packages)

    def of_stage(self, stage: str, engine: str | None = None, others: Iterable[str] = ()) -> list[str]:
        """Return the files of a stage, of those parts of an engine that it uses, and of other modules."""
        module = f"headroom.{stage}" if stage in PACKAGES else f"headroom.stages.{stage}"
        chosen = f"headroom.engines.{engine}"
        parts = [f"{chosen}.engine", *(f"{chosen}.{part}" for part in self.uses(stage))] if engine else []
        return self.of(module, *parts, *others, criteria=None if stage in PACKAGES else self.criteria_of(stage))

    def uses(self, stage: str) -> tuple[str, ...]:
        """Return the parts of an engine that a stage names in `USES`."""
        return self._constant(stage, "USES") or ()

    def criteria_of(self, stage: str) -> tuple[str, ...]:
        """Return the modules with the criteria of the tables that a stage names in `CRITERIA_OF`.

        A stage without this constant has those of all tables except `bakeoff_scores`.
        """
        return tuple(modules_of(self._constant(stage, "CRITERIA_OF")))

    def _constant(self, stage: str, name: str) -> tuple[str, ...] | None:
        """Return the strings in a constant of a stage's module; None without it."""
        text = self._file(f"headroom.stages.{stage}").read_text("utf-8")
        found = re.search(_CONSTANT.format(name), text, re.M | re.S)
        return ast.literal_eval(found[1]) if found else None

    def _file(self, module: str) -> Path:
        path = self.place / Path(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
