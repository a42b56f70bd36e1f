"""Import of fairseq without messages and in part; modules that use fairseq import this one first.

fairseq imports the files of all its models, tasks and criteria, for their names on its command line: those of speech
import scikit-learn, scipy and pandas, half of the time. Here it imports only what its Transformer, the task of
translation and statements `import` need; `register_all` imports the rest. It still takes seconds: therefore the engine
of translation imports it late, when it loads a model.
"""

import importlib
import logging
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_FAMILIES = (
    "fairseq.criterions",
    "fairseq.models",
    "fairseq.model_parallel.criterions",
    "fairseq.model_parallel.models",
    "fairseq.tasks",
)
"""Packages of fairseq that import all their files by `importlib.import_module`, without using them."""


@contextmanager
def _quiet() -> Iterator[None]:
    """Import without messages about missing packages, and restore the root logger."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        root.setLevel(level)
        root.handlers[:] = handlers


@contextmanager
def _in_part() -> Iterator[None]:
    """Import the packages of `_FAMILIES` without the files that only their registries name."""
    whole = importlib.import_module

    def import_module(name: str, package: str | None = None) -> ModuleType | None:
        return None if name.rpartition(".")[0] in _FAMILIES else whole(name, package)

    importlib.import_module = import_module  # type: ignore[assignment]
    try:
        yield
    finally:
        importlib.import_module = whole


def register_all() -> None:
    """Import all models, tasks and criteria of fairseq, which old checkpoints may name in their settings."""
    with _quiet():
        for family in _FAMILIES:
            for module in pkgutil.iter_modules(importlib.import_module(family).__path__, f"{family}."):
                importlib.import_module(module.name)


with _quiet(), _in_part():
    import fairseq
    import fairseq.models.transformer
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import collate_tokens
    from fairseq.sequence_generator import SequenceGenerator
    from fairseq.tasks.translation import TranslationTask

for _name in ("fairseq", "fairseq_cli", "hydra"):
    logging.getLogger(_name).setLevel(logging.WARNING)
logging.getLogger("fairseq.checkpoint_utils").setLevel(logging.CRITICAL)  # its tracebacks are reported in one line

VERSION: str = fairseq.__version__

__all__ = ["VERSION", "Dictionary", "SequenceGenerator", "TranslationTask", "collate_tokens", "register_all"]
