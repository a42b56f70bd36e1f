"""The source files that results depend on: import closures of stages, determined without importing them.

What is imported by its name is not in the closure of who imports it: the criteria count as a whole folder, an engine as
its folder but for the arms, and the rule names the module of a provider or of the arms. Settings and the declarations
of tables are excluded: their values are a rule's params.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grimp

from headroom.__main__ import module_of
from headroom.engines.command import ENGINES

PARAMS = r"headroom\.(settings(\..+)?|core\.columns|claims\.table|experiments(\.tables|\.\w+\.(table|settings))?)"
"""Modules whose content affects results only through params of rules."""

RULES = r"headroom\.experiments\.\w+\.(claims|survival|retention|head_counts|replacements|effects)"
"""The modules of experiments with functions that the entries of claims name."""


@dataclass(frozen=True)
class Sources:
    """The import graph of the package.

    Attributes:
        place: The directory that holds the package.
    """

    place: Path

    @cached_property
    def graph(self) -> grimp.ImportGraph:
        """The imports between modules, those in functions included."""
        return grimp.build_graph("headroom", cache_dir=None, exclude_type_checking_imports=True)

    def of_stage(self, stage: str, *others: str, engine: str | None = None) -> list[str]:
        """Return the files of a stage, other modules, an engine's folder but its arms, and of all that these import."""
        engines = self.graph.find_children(ENGINES[engine]) - {f"{ENGINES[engine]}.arms"} if engine else ()
        found, waiting = set(), [module_of(stage), *others, *engines]
        while waiting:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                package = name.rpartition(".")[0]  # it is imported first
                waiting += [package, *self.graph.find_modules_directly_imported_by(name)]
                waiting += self._imported_by_name(name)
        return sorted(str(self._file(name)) for name in found if not re.fullmatch(PARAMS, name))

    def _imported_by_name(self, module: str) -> list[str]:
        """Return the modules that one imports by name."""
        if module == "headroom.methods.criteria":
            return list(self.graph.find_children(module))
        if module == "headroom.claims.entries":
            return [name for name in self.graph.modules if re.fullmatch(RULES, name)]
        return []

    def _file(self, module: str) -> Path:
        path = self.place / Path(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
