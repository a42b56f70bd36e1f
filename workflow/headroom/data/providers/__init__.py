"""Where text and trees come from: one module per source, imported when its source is asked for.

A provider is a function `parallel`, `labelled` or `trees`: from the settings of its source and a
`headroom.data.corpora.Request` to `ParallelSets`, `LabelledSets` or `Trees`. It is imported by its name, for two
reasons: a source loads only the libraries that it needs; and what a job depends on is the stage and the provider of its
source, so that a change of one source reruns nothing that comes from another. Tools that follow imports see no provider
behind the stage: who asks for all that decides what is acquired names both, `headroom.stages.acquire` and
`module_of(kind, source)`.
"""

import importlib
from typing import Any, Literal

from headroom.data.corpora import Request

Kind = Literal["parallel", "labelled", "trees"]


def module_of(kind: Kind, source: str) -> str:
    """Return the name of the module that provides a kind of data from a source."""
    is_pairs = source == "generated" and kind != "parallel"  # by another grammar than the generated parallel text
    return f"{__name__}.{'generated_pairs' if is_pairs else source}"


def provide(kind: Kind, settings: Any, request: Request) -> Any:
    """Return what the provider of a kind and of the source of its settings gives."""
    provider = getattr(importlib.import_module(module_of(kind, settings.source)), kind)
    return provider(settings, request)
