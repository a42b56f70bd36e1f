"""The source files that results depend on: import closures of stages, determined without importing them.

What is imported by its name is not in the closure of who imports it: the criteria and an engine count as whole
folders, and a stage names the module of a provider. Settings, and the declarations of tables and of jobs, are excluded:
their values are a rule's params.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import grimp

from headroom.core.files import parse_yaml, sha256
from headroom.core.table import Table
from headroom.models.command import ENGINES

DECLARED = r"experiments(\.(?!listed)\w+(\.declared)?)?"
PARAMS = rf"headroom\.(settings(\..+)?|core\.columns|claims\.table|{DECLARED})"
"""Modules whose content affects results only through params of rules."""


@dataclass(frozen=True)
class Sources:
    """The import graph of the package.

    Attributes:
        place: The directory that holds the package.
    """

    place: Path
    _digests: dict[tuple[str | None, ...], str] = field(default_factory=dict)

    @cached_property
    def graph(self) -> grimp.ImportGraph:
        """The imports between modules, those in functions included."""
        return grimp.build_graph("headroom", cache_dir=None, exclude_type_checking_imports=True)

    def digest(self, module: str, *others: str, engine: str | None = None) -> str:
        """Return a checksum of the files of a stage, as `of_stage` lists them, and of the columns of its tables."""
        key = (module, *others, engine)
        if key not in self._digests:
            files = (sha256(path) for path in self.of_stage(module, *others, engine=engine))
            columns = (str(table.typed_names) for table in self._tables_of(module))
            self._digests[key] = hashlib.sha256("".join([*files, *columns]).encode()).hexdigest()[:16]
        return self._digests[key]

    def _tables_of(self, module: str) -> Iterator[Table]:
        """Yield the tables that the declarations which a module imports define."""
        for name in sorted(self.graph.find_modules_directly_imported_by(module)):
            if re.fullmatch(rf"headroom\.({DECLARED}|claims\.table)", name):
                yield from (one for one in vars(import_module(name)).values() if isinstance(one, Table))

    def of_stage(self, module: str, *others: str, engine: str | None = None) -> list[str]:
        """Return the files of a stage, other modules, an engine's folder, and of all that these import."""
        engines = self.graph.find_children(ENGINES[engine]) if engine else ()
        found, waiting = set(), [module, *others, *engines]
        while waiting:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                package = name.rpartition(".")[0]  # it is imported first
                waiting += [package, *self.graph.find_modules_directly_imported_by(name)]
                waiting += self._imported_by_name(name)
        return sorted(str(self._file(name)) for name in found if not re.fullmatch(PARAMS, name))

    def _imported_by_name(self, module: str) -> list[str]:
        if module == "headroom.methods.criteria":
            return list(self.graph.find_children(module))
        if module == "headroom.claims.entries":
            return self._imported_by_claims
        if module == "headroom.report.page":
            return [
                name
                for name in self.graph.modules
                if re.fullmatch(r"headroom\.experiments\.\w+\.(page|\w+_section)", name)
            ]
        return []

    @cached_property
    def _imported_by_claims(self) -> list[str]:
        """The modules of experiments with functions that the entries of claims name."""
        papers = sorted(self.place.glob("headroom/claims/papers/*.yaml"))
        entries = [parse_yaml(path.read_text("utf-8")) for path in papers]
        named = [name.rpartition(".")[0] for entry in entries for name in _find_named(entry)]
        modules = {f"headroom.experiments.{name if '.' in name else f'{name}.claims'}" for name in named}
        return sorted(modules & self.graph.modules)

    def _file(self, module: str) -> Path:
        path = self.place / Path(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _find_named(entry: Any) -> Iterator[str]:
    if isinstance(entry, dict):
        yield from (value for key, value in entry.items() if key in ("decide", "compute") and isinstance(value, str))
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _find_named(inner)
