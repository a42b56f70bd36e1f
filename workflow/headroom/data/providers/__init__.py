"""Providers of text and trees: one module per source, imported on demand.

A provider is a function `parallel`, `labelled`, `documents` or `trees`: from the settings of its source and a
`headroom.data.corpora.Request` to `ParallelSets`, `LabelledSets`, `DocumentSets` or `Trees`. It is imported by its
name, for two reasons: a source loads only the libraries that it needs; and a job depends only on the stage and the
provider of its source, so that a change of one source does not rerun jobs of another. Tools that follow imports do not
find the provider through the stage: the sources of an acquisition are `headroom.preparation.acquire` and
`module_of(source)`.
"""

import importlib
from typing import Any, Literal

from headroom.data.corpora import Request

Kind = Literal["parallel", "labelled", "documents", "trees"]


def module_of(source: str) -> str:
    """Return the name of the module that provides data from a source."""
    return f"{__name__}.{source}"


def provide(kind: Kind, settings: Any, request: Request) -> Any:
    """Return the data of a kind from the provider for these settings."""
    provider = getattr(importlib.import_module(module_of(settings.source)), kind)
    return provider(settings, request)
