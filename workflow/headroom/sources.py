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

DECLARATIONS = ("headroom.settings", "headroom.core.tables")
"""Packages whose content affects results only through params of rules."""

CHOSEN = {
    "headroom.stages.training": ("headroom.methods.translation_arms", "headroom.methods.classification_arms"),
    "headroom.stages.released": ("headroom.engines.translation.released", "headroom.engines.classification.released"),
}
"""By stage, the modules of which a job imports one, given by its rule."""

FAMILIES = ("headroom.methods.criteria", "headroom.claims")
"""The packages that import their modules dynamically."""

PACKAGES = ("claims", "report")
"""The stages that are packages."""

_USES = re.compile(r"^USES = (\(.*?\))$", re.M | re.S)


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

    def of(self, *modules: str) -> list[str]:
        """Return the files of modules, of their imports, and of the packages that contain these."""
        known = [name for module in modules for name in (module, f"{module}.__main__") if name in self.graph.modules]
        found = {name for module in known for name in (module, *self.graph.find_upstream_modules(module))}
        for family in found.intersection(FAMILIES):  # it imports all modules of its folder
            families = self.graph.find_children(family)
            found |= {name for module in families for name in (module, *self.graph.find_upstream_modules(module))}
        found = {name for name in found if not name.startswith(DECLARATIONS)}
        packages = {name.rpartition(".")[0] for name in found if "." in name}
        return sorted(str(self._file(name)) for name in found | packages)

    def of_stage(self, stage: str, engine: str | None = None, others: Iterable[str] = ()) -> list[str]:
        """Return the files of a stage, of those parts of an engine that it uses, and of other modules."""
        module = f"headroom.{stage}" if stage in PACKAGES else f"headroom.stages.{stage}"
        chosen = f"headroom.engines.{engine}"
        parts = [f"{chosen}.engine", *(f"{chosen}.{part}" for part in self.uses(stage))] if engine else []
        return self.of(module, *parts, *others)

    def uses(self, stage: str) -> tuple[str, ...]:
        """Return the parts of an engine that a stage names in `USES`."""
        text = self._file(f"headroom.stages.{stage}").read_text("utf-8")
        found = _USES.search(text)
        return ast.literal_eval(found[1]) if found else ()

    def _file(self, module: str) -> Path:
        path = self.place / Path(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
