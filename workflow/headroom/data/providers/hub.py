"""Data sets of the Hugging Face Hub, by the library `datasets`, offline if the Hub is unreachable."""

import importlib
import logging
import os
import re
from collections.abc import Sequence
from typing import Any

import requests

from headroom.core.errors import HeadroomError, shorten
from headroom.data.corpora import Request
from headroom.data.documents import DocumentSets, DocumentText
from headroom.data.examination import count_left_out, is_blank
from headroom.data.labelled import LabelledSets, LabelledText
from headroom.data.parallel import ParallelSets, ParallelText, check_pairs, drop_blank_pairs
from headroom.settings.base import HubSource
from headroom.settings.documents import DocumentHubCorpus
from headroom.settings.labelled import HubCorpus, match_label
from headroom.settings.parallel import ParallelHubCorpus

TIMEOUT = 10.0
"""Seconds without an answer after which the Hub counts as unreachable."""

_log = logging.getLogger(__name__)


def parallel(settings: ParallelHubCorpus, _request: Request) -> ParallelSets:
    """Load every set. Pairs with a side without a visible character are left out and counted.

    Raises:
        HeadroomError: If the library, the network, the data set, a split, the column or a language is missing;
            names the key.
    """
    tables = _tables(settings, "give a local copy as text files with source: files")
    texts, left_out = drop_blank_pairs({name: _pairs(settings, name, table) for name, table in tables.items()})
    for name, text in texts.items():
        check_pairs(text, f"{name}.source", f"{name}.target")
    languages = settings.source_language, settings.target_language
    origin = {"licences": [_licence(tables)]}
    return ParallelSets(texts, languages, origin=origin, left_out=left_out, valid=settings.valid)


def labelled(settings: HubCorpus, _request: Request) -> LabelledSets:
    """Load every set. Examples without a label or a visible character are left out and counted.

    Raises:
        HeadroomError: If the library, the network, the data set, a split or a column is missing, or if labels and
            metrics do not fit; names the key.
    """
    tables = _tables(settings, "give a local copy as TSV files with source: files")
    labels = _labels(settings, tables["train"])
    texts = {name: _text(settings, name, table, labels) for name, table in tables.items()}
    origin = {"licences": [_licence(tables)]}
    left_out = count_left_out(texts, tables, "because they have no label or no text")
    return LabelledSets(texts, labels, settings.metrics, origin=origin, left_out=left_out, valid=settings.valid)


def documents(settings: DocumentHubCorpus, _request: Request) -> DocumentSets:
    """Load every set, a document in every row; rows without a visible character are left out and counted.

    Raises:
        HeadroomError: If the library, the network, the data set, a split or the column is missing, or a split has no
            text; names the key.
    """
    tables = _tables(settings, "give a local copy as text files with source: files")
    read = {name: _documents(settings, name, table) for name, table in tables.items()}
    texts = {name: DocumentText(own) for name, own in {"train": [], **read}.items()}
    left_out = count_left_out(read, tables, "because they have no text")
    origin = {"licences": [_licence(tables)]}
    return DocumentSets(texts, origin=origin, left_out=left_out, valid=settings.valid)


def _documents(settings: DocumentHubCorpus, name: str, table: Any) -> list[str]:
    rows = [str(text or "").replace("\0", " ") for text in _column(table, settings.text, "text", settings.dataset)]
    found = [text for text in rows if not is_blank(text)]
    if not found:
        raise HeadroomError(
            f"key {name}: split {settings.splits[name]} of {settings.dataset} has no text; name another split"
        )
    return found


def _tables(settings: HubSource, way_out: str) -> dict[str, Any]:
    """Return every set in the library's form; `way_out` is the alternative for users, for messages."""
    library = _library(settings.dataset, way_out)
    tables = {}
    for name, split in settings.splits.items():
        try:
            tables[name] = library.load_dataset(
                settings.dataset, settings.name, revision=settings.revision, split=split
            )
        except Exception as error:  # of many types: network, cache, name, configuration, split, format
            full_name = settings.dataset if settings.name is None else f"{settings.dataset} ({settings.name})"
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise HeadroomError(
                f"key dataset: cannot load {full_name}, split {split}, from the Hugging Face Hub, {reason}; {way_out}"
            ) from error
    return tables


def _licence(tables: dict[str, Any]) -> str:
    return str(getattr(next(iter(tables.values())).info, "license", "") or "not stated")


def _library(dataset: str, way_out: str) -> Any:
    """Return the library, restricted to its cache if the Hub does not answer.

    Without the restriction it would retry for minutes on networks that drop packets.

    Raises:
        HeadroomError: If the library is not installed.
    """
    if not hub_answers():
        _log.warning("Hugging Face Hub: no answer; reading %s from the cache", dataset)
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; this process only
    try:
        return importlib.import_module("datasets")  # optional, and slow to import
    except ImportError as error:
        raise HeadroomError(
            f"key dataset: {dataset} needs the library 'datasets' ({error}); install it, or {way_out}"
        ) from error


def hub_answers() -> bool:
    """Return whether the Hub can be reached."""
    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=TIMEOUT)
    except requests.RequestException:
        return False
    return True


def _column(table: Any, column: str, key: str, dataset: str) -> list[Any]:
    if column not in table.column_names:
        raise HeadroomError(
            f"key {key}: {dataset} has no column '{column}'; choose one of {shorten(', '.join(table.column_names))}"
        )
    return list(table[column])


def _pairs(settings: ParallelHubCorpus, name: str, table: Any) -> ParallelText:
    dataset, languages = settings.dataset, (settings.source_language, settings.target_language)
    rows = _column(table, settings.column, "column", dataset)
    if not rows:
        raise HeadroomError(f"key {name}: split {settings.splits[name]} of {dataset} is empty; name another split")
    known = list(rows[0]) if isinstance(rows[0], dict) else []
    for key, language in zip(("source_language", "target_language"), languages, strict=True):
        if language not in known:
            raise HeadroomError(
                f"key {key}: column '{settings.column}' of {dataset} has no text in '{language}'; "
                f"choose one of {', '.join(known) or 'none'}"
            )
    return ParallelText(*([_plain(row[side]) for row in rows] for side in languages))


def _plain(text: Any) -> str:
    r"""Return a sentence on one line: ends of lines ("\r", "\n") and NUL inside it become one space."""
    return re.sub(r"[\0\r\n]+", " ", str(text or "")).strip()


def _labels(settings: HubCorpus, table: Any) -> tuple[str, ...]:
    """Return the names of the labels in the order of their numbers."""
    _column(table, settings.label, "label", settings.dataset)
    own = tuple(getattr(table.features[settings.label], "names", None) or ())
    labels = settings.labels or own
    if not labels:
        raise HeadroomError(f"key labels: {settings.dataset} does not name its labels; list them in this key")
    if own and len(labels) != len(own):
        raise HeadroomError(
            f"key labels: {len(labels)} names for {len(own)} labels of {settings.dataset}; name {', '.join(own)}"
        )
    return labels


def _text(settings: HubCorpus, name: str, table: Any, labels: Sequence[str]) -> LabelledText:
    sides = [_column(table, column, "sentences", settings.dataset) for column in settings.sentences]
    given = _column(table, settings.label, "label", settings.dataset)
    names = [_label(value, labels, f"{settings.dataset}, {name}, example {n}") for n, value in enumerate(given, 1)]
    whole = [
        place
        for place, label in enumerate(names)
        if label is not None and not any(is_blank(str(side[place] or "")) for side in sides)
    ]
    if not whole:
        raise HeadroomError(
            f"key {name}: split {settings.splits[name]} of {settings.dataset} has no labels; name another split"
        )
    return LabelledText.of(([str(side[n]) for n in whole] for side in sides), [str(names[n]) for n in whole])


def _label(value: Any, labels: Sequence[str], place: str) -> str | None:
    """Return the name of a label given by number or name, None if it is hidden (-1)."""
    if value is None or value == -1:
        return None
    if isinstance(value, int | float) and value in range(len(labels)):
        return labels[int(value)]
    if (named := match_label(str(value), labels)) in labels:
        return named
    raise HeadroomError(
        f"key labels: {place} contains the label '{shorten(value)}'; the declared labels are "
        f"{shorten(', '.join(labels))}"
    )
