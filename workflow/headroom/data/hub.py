"""Labelled text of a data set on the Hugging Face Hub, by the library `datasets` if it is installed."""

import importlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import requests

from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.settings.labelled import HubCorpus, check_task

TIMEOUT = 10.0
"""Seconds without an answer after which the Hub is out of reach."""

WAY_OUT = "give a local copy as TSV files with source: files"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubText:
    """What a data set of the Hub gave: examples by set (train, valid, test, far domains), labels, licence."""

    sets: dict[str, LabelledText]
    labels: tuple[str, ...]
    licence: str


def load_hub(settings: HubCorpus) -> HubText:
    """Load every set. Examples without a label or with an empty sentence are left out, and a warning counts them.

    Raises:
        HeadroomError: If the library, the network, the data set, a split or a column is missing, or if labels and
            metrics do not fit; names the key.
    """
    library = _library(settings)
    tables = {name: _split(library, settings, split) for name, split in settings.splits.items()}
    labels = _labels(settings, tables["train"])
    sets = {name: _text(settings, name, table, labels) for name, table in tables.items()}
    return HubText(sets, labels, str(getattr(tables["train"].info, "license", "") or "not stated"))


def _library(settings: HubCorpus) -> Any:
    """Return the library, told to look only into its cache if the Hub does not answer.

    By itself it would try again for minutes where a network swallows what is sent.
    """
    if not _hub_answers():
        _log.warning("the Hugging Face Hub does not answer: looking for %s in the cache", settings.dataset)
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; this process only
    try:
        return importlib.import_module("datasets")  # optional, and slow to import
    except ImportError as error:
        raise HeadroomError(
            f"key dataset: {settings.dataset} needs the library 'datasets' ({error}): install it, or {WAY_OUT}"
        ) from error


def _hub_answers() -> bool:
    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=TIMEOUT)
    except requests.RequestException:
        return False
    return True


def _split(library: Any, settings: HubCorpus, split: str) -> Any:
    try:
        return library.load_dataset(settings.dataset, settings.name, revision=settings.revision, split=split)
    except Exception as error:  # of many kinds: network, cache, name, configuration, split, format
        full_name = settings.dataset if settings.name is None else f"{settings.dataset} ({settings.name})"
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise HeadroomError(
            f"key dataset: cannot load {full_name}, split {split}, from the Hugging Face Hub: {reason}; {WAY_OUT}"
        ) from error


def _labels(settings: HubCorpus, table: Any) -> tuple[str, ...]:
    """Return the names of the labels in the order of their numbers."""
    _column(table, settings.label, "label", settings.dataset)
    own = tuple(getattr(table.features[settings.label], "names", None) or ())
    labels = settings.labels or own
    if not labels:
        raise HeadroomError(f"key labels: {settings.dataset} does not name its labels; list them in this key")
    if own and len(labels) != len(own):
        raise HeadroomError(f"key labels: {len(labels)} names, but {settings.dataset} has {len(own)}: {', '.join(own)}")
    try:
        check_task(labels, settings.metrics)
    except ValueError as error:
        raise HeadroomError(f"key metrics: {error}") from error
    return labels


def _text(settings: HubCorpus, name: str, table: Any, labels: Sequence[str]) -> LabelledText:
    """Return the examples of one set."""
    sides = [_column(table, column, "sentences", settings.dataset) for column in settings.sentences]
    given = _column(table, settings.label, "label", settings.dataset)
    names = [_label(value, labels, f"{settings.dataset}, {name}, example {n}") for n, value in enumerate(given, 1)]
    whole = [
        place
        for place, label in enumerate(names)
        if label is not None and all(str(side[place] or "").strip() for side in sides)
    ]
    if not whole:
        raise HeadroomError(
            f"key {name}: split {settings.splits[name]} of {settings.dataset} has no labels; name another split"
        )
    if len(whole) < len(names):
        _log.warning("left out %d of %d examples of %s: no label or no text", len(names) - len(whole), len(names), name)
    first, *second = ([str(side[place]) for place in whole] for side in sides)
    return LabelledText(first, second[0] if second else None, [str(names[place]) for place in whole])


def _column(table: Any, column: str, key: str, dataset: str) -> list[Any]:
    if column not in table.column_names:
        raise HeadroomError(f"key {key}: {dataset} has no column '{column}', but {', '.join(table.column_names)}")
    return list(table[column])


def _label(value: Any, labels: Sequence[str], place: str) -> str | None:
    """Return the name of a label given by number or name; none if it is hidden (-1)."""
    if value is None or value == -1:
        return None
    if isinstance(value, int) and 0 <= value < len(labels):
        return labels[value]
    if value in labels:
        return str(value)
    raise HeadroomError(f"key labels: {place}: the label '{value}' is not among {', '.join(labels)}")
