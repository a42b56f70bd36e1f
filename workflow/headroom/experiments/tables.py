"""Every table of a study, in the order in which they are documented: those of each experiment's `declared.py`."""

from importlib import import_module
from pathlib import Path

from headroom.claims.table import CLAIMS, NUMBERS
from headroom.core.table import Registry, Table

_FILES = sorted(Path(__file__).parent.glob("*/declared.py"))
_MODULES = [import_module(f"headroom.experiments.{path.parent.name}.declared") for path in _FILES]

REGISTRY = Registry(
    *(one for module in _MODULES for one in vars(module).values() if isinstance(one, Table)), CLAIMS, NUMBERS
)
