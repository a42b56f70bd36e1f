"""headroom: how much headroom is in multi-head attention?"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroom.api import ablate as ablate
    from headroom.api import atlas as atlas
    from headroom.api import curve as curve
    from headroom.api import load as load
    from headroom.api import score as score
    from headroom.api import slim as slim

if importlib.util.find_spec("pydantic") is None:
    sys.exit("headroom: run `make study`, or `source .venv/bin/activate` first")


def __getattr__(name: str) -> Any:
    """Return a function of `headroom.api`, which imports torch, when it is first asked for."""
    if name not in ("ablate", "atlas", "curve", "load", "score", "slim"):
        raise AttributeError(f"module 'headroom' has no attribute '{name}'")
    return getattr(importlib.import_module("headroom.api"), name)
