"""headroom: how much headroom is in multi-head attention?"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headroom.models.load import load as load

if importlib.util.find_spec("pydantic") is None:
    sys.exit("headroom: run `make study`, or `source .venv/bin/activate` first")


def __getattr__(name: str) -> object:
    """Return `load`, which imports torch, when it is first asked for."""
    if name != "load":
        raise AttributeError(f"module 'headroom' has no attribute '{name}'")
    return importlib.import_module("headroom.models.load").load
