"""Imports of large libraries in less time."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Import within a block without garbage collection, and exempt what then exists from later collections.

    Nearly all objects that imports create stay: searching them for garbage, again and again during the imports and
    once at the end of the process, takes a fifth of the time of importing. A block that imports nothing new exempts
    nothing: a model of an earlier checkpoint is still freed.
    """
    enabled, known = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        if enabled:
            gc.enable()
