"""Importing fairseq quietly, and without the libraries that only its tasks on speech and text classes use."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _Unused(ModuleType):
    """A module that has every name, for `from ... import name` of what is never called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


@contextmanager
def _left_out(*names: str) -> Iterator[None]:
    """Do not load these modules meanwhile: fairseq imports all its tasks, each job would wait for them."""
    missing = {name: _Unused(name) for name in names if name not in sys.modules}
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


_root = logging.getLogger()
_before = (_root.level, list(_root.handlers))

logging.disable(logging.CRITICAL)
with warnings.catch_warnings(), _left_out("sklearn", "sklearn.metrics", "scipy.stats"):
    warnings.simplefilter("ignore")
    import fairseq
    from fairseq import models, tasks  # noqa: F401

logging.disable(logging.NOTSET)

# fairseq configures the root logger when it is imported: give it back as it was.
_root.setLevel(_before[0])
_root.handlers[:] = _before[1]
for _name in ("fairseq", "fairseq_cli", "hydra"):
    logging.getLogger(_name).setLevel(logging.WARNING)
logging.getLogger("fairseq.checkpoint_utils").setLevel(logging.CRITICAL)  # tracebacks of what is told in one line

VERSION: str = fairseq.__version__
